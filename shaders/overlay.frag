// Sprites as they are, lines with smooth edges, fainter where points are in front of them.
#include "depth.glsl"

uniform sampler2D u_atlas;
uniform sampler2D u_depth;
uniform vec2 u_size;
uniform float u_atlas_size;
uniform float u_inverse_far;  // 0: orthographic
uniform float u_dash;

varying vec2 v_texture;
varying vec4 v_color;
varying vec4 v_line;
varying vec2 v_kind;

void main() {
    if (v_kind.x < 0.5) {
        gl_FragColor = texture2D(u_atlas, v_texture / u_atlas_size);
        return;
    }
    float alpha = v_color.a;
    if (v_kind.x > 1.5) {
        float beyond = max(max(-v_texture.x, v_texture.x - v_line.z), 0.0);
        alpha *= clamp(v_line.w + 0.5 - length(vec2(beyond, v_texture.y)), 0.0, 1.0);
        if (v_kind.x > 2.5) {
            float at = mod(v_texture.x + v_kind.y, u_dash * 2.0);
            alpha *= clamp(u_dash * 0.6 - abs(at - u_dash) + 0.5, 0.0, 1.0);
        }
        if (v_line.x > 0.0 && v_line.y < 1.0) {
            float points = texture2D(u_depth, gl_FragCoord.xy / u_size).r;
            float own = u_inverse_far > 0.0
                ? depth_of(1.0 / v_line.x, u_inverse_far) * 0.9993 : v_line.x - 0.0005;
            alpha *= points < own ? v_line.y : 1.0;
        }
    }
    gl_FragColor = vec4(v_color.rgb * alpha, alpha);
}
