// Logarithms, exponentials and powers that give the same bits on every IEEE-754 machine.
//
// The C library's differ between versions in the last bit, which is enough to change a random draw, or a time by a picosecond,
// and with it a digest: sim/ uses none of them (tests/lint/portable_test.py). These use only + - * / and exact scaling. For
// results of normal size they err by at most 2 units in the last place, those of base 2 and 10 by 4 (checked against the C
// library). Not for speed, and only for finite arguments.
#pragma once

namespace weft {

[[nodiscard]] double portable_log(double x);  // x > 0
[[nodiscard]] double portable_exp(double x);  // 0 below -708, infinity above 709.78
// exp(y log x) for x > 0, and 0 for x = 0 and y > 0: relative error about |y log x| * 2e-16 and 2 units in the last place.
[[nodiscard]] double portable_pow(double x, double y);

[[nodiscard]] double portable_log2(double x);   // x > 0; exact for powers of two
[[nodiscard]] double portable_exp2(double x);   // exact for whole numbers
[[nodiscard]] double portable_log10(double x);  // x > 0; exact for the powers of ten that portable_exp10 gives
[[nodiscard]] double portable_exp10(int x);     // the nearest to 10^x for |x| <= 22, within 1e-13 of it beyond

}  // namespace weft
