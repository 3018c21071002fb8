// How well a profile knows what it predicts: what the uncertainties that its calibrations state make of each prediction.
//
//   sd[i]^2 = sum over calibrations, over j and k:  rho[j][k] d[i][j] d[i][k],   d[i][j] = log p[i](x[j] (1 + s[j])) / p[i](x)
//
// s is the standard error of parameter j, rho the correlations of a calibration's parameters (identifiability.h); those of
// different calibrations count as independent, although a later fit rests on the values of an earlier one, so that this is a
// lower bound. What the models leave out is not in it: that is what held-out points show.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/profile.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"

namespace weft::measured {

// Keys of the values that a calibration fitted and states the uncertainty of; predictions are made once for each.
[[nodiscard]] std::vector<std::string> uncertain_parameters(const Profile& profile);

// Every point of a set, always in the same order; nothing where the user stopped it. Only the parameter named is another than
// in the profile so far, so that what it does not act on need not be predicted again.
using PredictAll =
    std::function<std::optional<std::vector<ValidationPoint>>(const net::Cluster& cluster, std::string_view parameter)>;

// Sets `predicted_sd` of the points, which are what predict_all gives for the cluster, where they have a prediction on which
// some value acts whose uncertainty the profile states: of what rests on other values alone nothing is known. False where the
// user stopped it.
bool add_uncertainty(const net::Cluster& cluster, const PredictAll& predict_all, std::span<ValidationPoint> points);

}  // namespace weft::measured
