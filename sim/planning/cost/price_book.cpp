#include "sim/planning/cost/price_book.h"

#include <fmt/format.h>

#include <system_error>

#include "sim/core/config/find_config.h"
#include "sim/core/config/nearest.h"

namespace weft::plan {
namespace {

std::vector<NamedPrice> read_named_prices(ParamReader& book, std::string_view list, std::string_view key) {
  std::vector<NamedPrice> prices;
  for (ParamReader& entry : book.maps(list)) {
    NamedPrice price;
    price.name = entry.required<std::string>(key);
    price.price = read_figure(entry, "price", Unit::kUsd);
    entry.finish();
    prices.push_back(std::move(price));
  }
  return prices;
}

std::vector<RatePrice> read_rates(ParamReader& book, std::string_view list, bool is_cable, bool is_module) {
  std::vector<RatePrice> prices;
  for (ParamReader& entry : book.maps(list)) {
    RatePrice price;
    price.rate = entry.required<Bandwidth>("rate", positive);
    price.price = read_figure(entry, "price", Unit::kUsd);
    if (is_cable) price.per_metre = read_amount(entry, "per_metre", Unit::kUsd, 0.0);
    if (is_module) price.ports = entry.optional<std::int64_t>("ports", 1, between(1, 8));
    entry.finish();
    prices.push_back(std::move(price));
  }
  return prices;
}

Figure read_single(ParamReader& book, std::string_view section, Unit unit) {
  ParamReader entry = book.map(section);
  const Figure figure = read_figure(entry, "price", unit);
  entry.finish();
  return figure;
}

}  // namespace

PriceBook read_price_book(const ConfigNode& node, Diagnostics& diagnostics) {
  ParamReader book{node, diagnostics};
  PriceBook prices;
  static_cast<void>(book.choice("kind", {"prices"}, "prices"));
  static_cast<void>(book.optional<std::string>("description", ""));
  prices.name = book.optional<std::string>("name", std::filesystem::path{node.file()}.stem().string());
  prices.file = node.file();
  prices.servers = read_named_prices(book, "servers", "node");
  prices.gpus = read_named_prices(book, "gpus", "gpu");
  prices.nics = read_rates(book, "nics", false, false);
  prices.server_base = read_single(book, "server_base", Unit::kUsd);
  for (ParamReader& entry : book.maps("switches")) {
    SwitchPrice price;
    price.type = entry.required<std::string>("type");
    price.rate = entry.required<Bandwidth>("rate", positive);
    price.ports = entry.required<std::int64_t>("ports", between(1, 4096));
    price.price = read_figure(entry, "price", Unit::kUsd);
    entry.finish();
    prices.switches.push_back(std::move(price));
  }
  prices.copper = read_rates(book, "copper", true, false);
  prices.fibre = read_rates(book, "fibre", true, false);
  prices.modules = read_rates(book, "modules", false, true);
  prices.rack = read_single(book, "rack", Unit::kUsd);
  prices.energy = read_single(book, "energy", Unit::kUsdPerKwh);
  ParamReader amortisation = book.map("amortisation");
  prices.amortisation = read_figure(amortisation, "over", Unit::kYear);
  if (amortisation.has("over") && prices.amortisation.value <= 0) amortisation.error("over", "must be more than 0");
  prices.utilization =
      amortisation.optional<Ratio>("utilization", Ratio{1.0}, {.min = Ratio{0.01}, .max = Ratio{1.0}, .above_min = false})
          .value;
  amortisation.finish();
  ParamReader operation = book.map("operation");
  prices.operation.value = operation.required<Ratio>("share", at_most(Ratio{1.0})).value;
  read_source(operation, prices.operation);
  operation.finish();
  ParamReader floor_plan = book.map_or_empty("floor_plan");
  prices.floor_plan = FloorPlan::read(floor_plan);
  book.finish();
  return prices;
}

std::filesystem::path find_book(const std::string& file_or_name, const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(file_or_name, error)) return file_or_name;
  if (const auto shipped = find_config(std::filesystem::path{folder} / (file_or_name + ".yaml"))) return *shipped;
  throw ConfigError({Diagnostic{.where = {},
                                .message = fmt::format("no file, and no shipped book of {}, '{}'", folder, file_or_name),
                                .source_line = {},
                                .length = 1,
                                .note = did_you_mean(file_or_name, config_names(folder), "books")}});
}

PriceBook load_price_book(const std::string& file_or_name) {
  Diagnostics diagnostics;
  PriceBook book = read_price_book(ConfigNode::load_file(find_book(file_or_name, "prices"), "prices"), diagnostics);
  diagnostics.throw_if_any();
  return book;
}

}  // namespace weft::plan
