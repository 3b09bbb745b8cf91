// Points over a background, with eye-dome lighting (Boucheny 2009): a pixel is darkened by how much
// nearer its neighbours are. Background pixels neither give nor take shade.
uniform sampler2D u_color;
uniform sampler2D u_depth;
uniform vec2 u_pixel;      // one pixel, in texture units
uniform vec3 u_top;
uniform vec3 u_bottom;
uniform float u_radius;    // pixels
uniform float u_strength;  // 0: off
uniform float u_relief;    // orthographic: depth to relief; 0: perspective

varying vec2 v_at;

float relief(float here, vec2 offset) {
    float there = texture2D(u_depth, v_at + offset * u_pixel).r;
    // perspective: 8 log2(e) (1 - there / here) is the difference of log2 of the distances
    float rise = u_relief > 0.0 ? (here - there) * u_relief : (1.0 - there / here) * 11.54;
    return clamp(rise, 0.0, 0.010);
}

void main() {
    float here = texture2D(u_depth, v_at).r;
    if (here >= 1.0) {
        // a step of noise below one grey level keeps the gradient free of bands
        float grain = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
        gl_FragColor = vec4(mix(u_bottom, u_top, v_at.y) + (grain - 0.5) / 255.0, 1.0);
        return;
    }
    vec3 color = texture2D(u_color, v_at).rgb;
    if (u_strength > 0.0) {
        float r = u_radius;
        float s = u_radius * 0.7071;
        float sum = relief(here, vec2(r, 0.0)) + relief(here, vec2(-r, 0.0))
                  + relief(here, vec2(0.0, r)) + relief(here, vec2(0.0, -r))
                  + relief(here, vec2(s, s)) + relief(here, vec2(-s, s))
                  + relief(here, vec2(s, -s)) + relief(here, vec2(-s, -s));
        color *= exp(-sum * 0.125 * 105.0 * u_strength);
    }
    gl_FragColor = vec4(color, 1.0);
}
