// One point of a cloud. Coordinates are LAS integers biased to uint32, as two 16-bit halves each.
// Defines: one of MODE_RGB, MODE_SCALAR, MODE_ELEVATION, MODE_CLASS, MODE_RETURN, MODE_SOURCE,
// MODE_UNIFORM; and any of ORTHO, ADAPTIVE, SQUARE, HIDE_CLASSES, CLIP_NONE, CLIP_BOX, CLIP_POLYGON,
// BEHIND (points of at most two pixels: leave out those behind the picture so far).
#include "depth.glsl"

attribute vec2 a_x;      // low half, high half
attribute vec2 a_y;
attribute vec2 a_z;
attribute vec4 a_color;  // red, green, blue, return number * 16 + level of detail
attribute vec4 a_state;  // flags, class, scalar low byte, scalar high byte

uniform vec3 u_eye_high;  // the eye in this cloud's integers: high halves, low halves, and the
uniform vec3 u_eye_low;   // fraction of one integer step left over, in world units
uniform vec3 u_eye_rest;
uniform vec3 u_scale;
uniform vec4 u_row_x;     // rotation and projection about the eye
uniform vec4 u_row_y;
uniform vec4 u_row_w;
uniform vec4 u_row_depth; // orthographic: depth 0..1
uniform float u_inverse_far;
uniform vec4 u_nowhere;   // where no point is seen

uniform float u_size;      // pixels
uniform float u_max_size;
uniform float u_spacing;   // pixels at w = 1 between points of level 0
uniform sampler2D u_palette;
uniform sampler2D u_classes;  // colour, alpha 0: hidden
uniform vec2 u_range;      // t = value * x + y
uniform float u_no_data;    // 1: the scalar 65535 means "no value"
uniform vec3 u_uniform;
uniform vec3 u_neutral;
uniform vec3 u_accent;

uniform vec3 u_clip_center;  // about the eye
uniform vec2 u_clip_turn;    // cosine, sine
uniform vec3 u_clip_half;
uniform vec2 u_clip_z;
uniform float u_clip_keep;   // 1: keep what is inside, 0: what is outside
uniform sampler2D u_clip_mask;

#ifdef BEHIND
uniform sampler2D u_farthest;  // depths, see farthest.frag
uniform vec4 u_pixels;         // from the position to pixels: factors, shifts
uniform vec2 u_pixel;          // one pixel, in texture units
#endif

varying vec3 v_color;
#ifndef SQUARE
varying float v_round;  // squared radius at which a point is cut off
#endif

void main() {
    vec3 low = vec3(a_x.x, a_y.x, a_z.x);
    vec3 high = vec3(a_x.y, a_y.y, a_z.y);
    vec3 place = ((high - u_eye_high) * 65536.0 + (low - u_eye_low)) * u_scale - u_eye_rest;

    // flags: 1 gone (hidden or deleted), 2 clipped away, 4 selected, 8 painted
    float flags = a_state.x;
    float painted = step(8.0, mod(flags, 16.0));
    float selected = step(4.0, mod(flags, 8.0));
    float clipped = step(2.0, mod(flags, 4.0));
    float gone = mod(flags, 2.0);

#ifdef CLIP_NONE
    clipped = 0.0;
#endif
#ifdef CLIP_BOX
    vec3 from = place - u_clip_center;
    vec3 inside = abs(vec3(from.x * u_clip_turn.x + from.y * u_clip_turn.y,
                           from.y * u_clip_turn.x - from.x * u_clip_turn.y, from.z));
    float hit = step(inside.x, u_clip_half.x) * step(inside.y, u_clip_half.y)
              * step(inside.z, u_clip_half.z);
    clipped = abs(hit - u_clip_keep);
#endif
#ifdef CLIP_POLYGON
    vec2 at = (place.xy - u_clip_center.xy) / u_clip_half.xy * 0.5 + 0.5;
    float hit = step(0.0, at.x) * step(0.0, at.y) * step(at.x, 1.0) * step(at.y, 1.0)
              * step(u_clip_z.x, place.z) * step(place.z, u_clip_z.y)
              * step(0.5, texture2DLod(u_clip_mask, at, 0.0).a);
    clipped = abs(hit - u_clip_keep);
#endif
    gone = max(gone, clipped);

#if defined(HIDE_CLASSES) || defined(MODE_CLASS)
    vec4 of_class = texture2DLod(u_classes, vec2((a_state.y + 0.5) / 256.0, 0.5), 0.0);
    gone = max(gone, 1.0 - of_class.a);
#endif

    vec4 at_eye = vec4(place, 1.0);
    vec4 position = vec4(dot(u_row_x, at_eye), dot(u_row_y, at_eye), 0.0, dot(u_row_w, at_eye));
#ifdef ORTHO
    float depth = dot(u_row_depth, at_eye);
#else
    float depth = depth_of(max(position.w, 0.0), u_inverse_far);
    gone = max(gone, step(position.w, 0.0));
#endif
    position.z = (depth * 2.0 - 1.0) * position.w;
#ifdef BEHIND
    // the first of the two by two pixels a point may cover, unless rounding may choose another
    vec2 first = position.xy / position.w * u_pixels.xy + u_pixels.zw - 0.5;
    vec2 inner = step(abs(fract(first) - 0.5), vec2(0.49));
    float farthest = texture2DLod(u_farthest, first * u_pixel, 0.0).r;
    gone = max(gone, inner.x * inner.y * step(farthest + 0.000001, depth));
#endif
    gl_Position = gone > 0.5 ? u_nowhere : position;

#ifdef ADAPTIVE
    float level = mod(a_color.w, 16.0);
    gl_PointSize = clamp(u_spacing * exp2(-level) / position.w, u_size, u_max_size);
#else
    gl_PointSize = u_size;
#endif

#ifndef SQUARE
    v_round = gl_PointSize > 3.5 ? 1.0 : 8.0;
#endif

    vec3 own = a_color.rgb / 255.0;
#ifdef MODE_RGB
    vec3 color = own;
#endif
#ifdef MODE_UNIFORM
    vec3 color = u_uniform;
#endif
#ifdef MODE_CLASS
    vec3 color = of_class.rgb;
#endif
#ifdef MODE_RETURN
    vec3 color = texture2DLod(u_palette, vec2((floor(a_color.w / 16.0) + 0.5) / 16.0, 0.5), 0.0).rgb;
#endif
#ifdef MODE_SOURCE
    vec3 color = texture2DLod(u_palette, vec2((a_state.z + 0.5) / 256.0, 0.5), 0.0).rgb;
#endif
#ifdef MODE_ELEVATION
    float t = clamp(place.z * u_range.x + u_range.y, 0.0, 1.0);
    vec3 color = texture2DLod(u_palette, vec2(t * (255.0 / 256.0) + 0.5 / 256.0, 0.5), 0.0).rgb;
#endif
#ifdef MODE_SCALAR
    float value = a_state.z + a_state.w * 256.0;
    float t = clamp(value * u_range.x + u_range.y, 0.0, 1.0);
    vec3 color = texture2DLod(u_palette, vec2(t * (255.0 / 256.0) + 0.5 / 256.0, 0.5), 0.0).rgb;
    color = mix(color, u_neutral, u_no_data * step(65534.5, value));
#endif
    color = mix(color, own, painted);
    v_color = mix(color, u_accent, selected * 0.72);
}
