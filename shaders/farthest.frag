// For every pixel the farthest depth in the window of two by two pixels that begins there: what is
// behind it can be seen in none of them.
uniform sampler2D u_depth;
uniform vec2 u_pixel;  // one pixel, in texture units

float depth(float x, float y) {
    return texture2D(u_depth, (gl_FragCoord.xy + vec2(x, y)) * u_pixel).r;
}

void main() {
    gl_FragDepth = max(max(depth(0.0, 0.0), depth(1.0, 0.0)), max(depth(0.0, 1.0), depth(1.0, 1.0)));
}
