// A round point. Nothing is cut off points of at most three pixels, whose corners are within the
// circle anyway: there a rounding error could lose a whole point. SQUARE: none is larger.
varying vec3 v_color;
#ifndef SQUARE
varying float v_round;
#endif

void main() {
#ifndef SQUARE
    vec2 from = gl_PointCoord * 2.0 - 1.0;
    if (dot(from, from) > v_round) discard;
#endif
    gl_FragColor = vec4(v_color, 1.0);
}
