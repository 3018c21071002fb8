// Natural logarithm, exponential and power that give the same bits on every IEEE-754 machine.
//
// The C library's log and exp differ between versions in the last bit, which is enough to change a random draw and with it a
// digest. These use only + - * / and exact scaling, and err by at most 2 units in the last place for results of normal size
// (checked against the C library). Not for speed, and only for finite arguments.
#pragma once

namespace weft {

[[nodiscard]] double portable_log(double x);  // x > 0
[[nodiscard]] double portable_exp(double x);  // 0 below -708, infinity above 709.78
// exp(y log x) for x > 0: relative error about |y log x| * 2e-16, enough for random draws.
[[nodiscard]] double portable_pow(double x, double y);

}  // namespace weft
