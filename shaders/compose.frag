// Points over a background, with EDL lit by depth (eye-dome lighting, Boucheny 2009): a pixel is
// darkened by how much nearer its neighbours are. Background pixels neither give nor take shade.
// Defines: EDL; FEW for four neighbours instead of eight (a software rasteriser, while moving).
uniform sampler2D u_color;
uniform sampler2D u_depth;
uniform vec2 u_pixel;      // one pixel, in texture units
uniform vec3 u_top;
uniform vec3 u_bottom;
uniform float u_radius;    // pixels
uniform float u_strength;
uniform float u_relief;    // orthographic: depth to relief; 0: perspective

varying vec2 v_at;

#ifdef EDL
// How much nearer the points at an offset are than here; 0 where there are none.
float rise(float here, vec2 at) {
    float there = texture2D(u_depth, at).r;
    // perspective: 8 log2(e) (1 - there / here) is the difference of log2 of the distances
    float up = u_relief > 0.0 ? (here - there) * u_relief : (1.0 - there / here) * 11.54;
    return there >= 1.0 ? 0.0 : up;
}

// What a step in depth darkens: little where it is small (the unevenness of a surface measured by
// points), and never more than a fixed amount.
float depth_step(float by) {
    float up = clamp(by, 0.0, 0.010);
    return up * up / (up + 0.0012);
}

// Shade from two opposite neighbours. Beyond the picture's edge the slope is continued; most of an
// even slope is taken off, so that ground seen at a low angle keeps its brightness.
float shade(float here, vec2 offset) {
    vec2 step = offset * u_pixel;
    float a = rise(here, v_at + step);
    float b = rise(here, v_at - step);
    vec2 out_a = abs(v_at + step - 0.5);
    vec2 out_b = abs(v_at - step - 0.5);
    if (max(out_a.x, out_a.y) > 0.5) a = -b;
    else if (max(out_b.x, out_b.y) > 0.5) b = -a;
    float slope = a * b < 0.0 ? min(abs(a), abs(b)) * 0.55 : 0.0;
    return depth_step(a - slope) + depth_step(b - slope);
}

#endif

void main() {
    float here = texture2D(u_depth, v_at).r;
    if (here >= 1.0) {
        // a step of noise below one grey level keeps the gradient free of bands
        float grain = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
        gl_FragColor = vec4(mix(u_bottom, u_top, v_at.y) + (grain - 0.5) / 255.0, 1.0);
        return;
    }
    vec3 color = texture2D(u_color, v_at).rgb;
#ifdef EDL
    float r = u_radius;
    float sum = shade(here, vec2(r, 0.0)) + shade(here, vec2(0.0, r));
#ifdef FEW
    sum *= 2.0;
#else
    float s = u_radius * 0.7071;
    sum += shade(here, vec2(s, s)) + shade(here, vec2(-s, s));
#endif
    color *= exp(-sum * 0.125 * 125.0 * u_strength);
#endif
    gl_FragColor = vec4(color, 1.0);
}
