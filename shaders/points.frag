// A round point. With SQUARE (points of at most three pixels) nothing is cut off.
varying vec3 v_color;

void main() {
#ifndef SQUARE
    vec2 from = gl_PointCoord * 2.0 - 1.0;
    if (dot(from, from) > 1.0) discard;
#endif
    gl_FragColor = vec4(v_color, 1.0);
}
