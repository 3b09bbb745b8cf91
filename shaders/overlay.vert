// A corner of an overlay's triangle, in physical pixels from the top left.
attribute vec2 a_place;
attribute vec2 a_texture;  // sprite: place in the atlas; line: along and across, pixels
attribute vec4 a_color;    // straight alpha
attribute vec4 a_line;     // depth (1 / w, or linear), strength behind points, length, half width
attribute vec2 a_kind;     // 0 sprite, 1 flat, 2 line, 3 dashed line; phase of the dashes

uniform vec2 u_size;

varying vec2 v_texture;
varying vec4 v_color;
varying vec4 v_line;
varying vec2 v_kind;

void main() {
    v_texture = a_texture;
    v_color = a_color;
    v_line = a_line;
    v_kind = a_kind;
    gl_PointSize = 1.0;
    gl_Position = vec4(a_place / u_size * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
}
