#include "sim/core/product_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/core/config/nearest.h"
#include "sim/core/config/quantity.h"
#include "sim/core/used_files.h"

namespace weft {
namespace {

constexpr std::int64_t kMostElements = 2'147'483'647;  // along a dimension
constexpr std::size_t kMostWrongRows = 20;             // that are told
constexpr std::array<std::string_view, 8> kColumns{"m", "n", "k", "type", "time_us", "scales", "quantized", "weight_copies"};
constexpr std::size_t kRequiredColumns = 5;

const std::vector<std::string>& scale_names() {
  static const std::vector<std::string> names{"tensor", "row", "block"};
  return names;
}

bool is_one_of(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using ShapeKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string, bool, std::int64_t>;
ShapeKey shape_of(const MeasuredProduct& p) { return {p.m, p.n, p.k, p.type, p.scales, p.quantized, p.weight_copies}; }

std::string shape_text(const MeasuredProduct& p) {
  return std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k) + ' ' + p.type;
}

// The rows so far, and where each of them stands.
class Collector {
 public:
  explicit Collector(ProductTable& table) : table_{table} {}

  // Returns what is wrong with one more row; empty: nothing. One that stands there already is passed over.
  std::string add(MeasuredProduct product, std::string place) {
    const auto [known, is_new] = places_.try_emplace(shape_of(product), table_.rows.size(), place);
    if (is_new) {
      table_.rows.push_back(std::move(product));
      return {};
    }
    const auto& [index, where] = known->second;
    const Duration earlier = table_.rows[index].time;
    if (earlier == product.time) return {};
    return shape_text(product) + " takes " + to_string(product.time) + " here, and " + to_string(earlier) + " in " + where;
  }

 private:
  ProductTable& table_;
  std::map<ShapeKey, std::pair<std::size_t, std::string>> places_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

struct Field {
  std::string text;
  int column = 1;
};
std::vector<Field> fields_of(std::string_view line) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    const std::string_view whole = line.substr(at, end - at);
    const std::size_t blank = std::min(whole.find_first_not_of(" \t"), whole.size());
    fields.push_back({std::string{trimmed(whole)}, static_cast<int>(at + blank) + 1});
    at = end + 1;
  }
  return fields;
}

// One CSV file.
class TableFile {
 public:
  TableFile(std::string file, Collector& collector, Diagnostics& diagnostics)
      : file_{std::move(file)}, collector_{collector}, diagnostics_{diagnostics} {}

  void read() {
    std::ifstream input = open_input(file_);
    std::string line;
    while (std::getline(input, line) && wrong_ < kMostWrongRows) {
      ++number_;
      line_ = line;
      const std::string_view text = trimmed(line);
      if (text.empty() || text.front() == '#') continue;
      if (columns_.empty()) {
        if (!read_names(fields_of(line))) return;
      } else {
        read_row(fields_of(line));
      }
    }
    if (columns_.empty()) tell({{}, 1}, "expected a line of names, such as m,n,k,type,time_us");
  }

 private:
  void tell(const Field& field, std::string message, std::string note = {}) {
    ++wrong_;
    Diagnostic diagnostic;
    diagnostic.where = {.file = file_, .line = std::max(number_, 1), .column = field.column};
    diagnostic.message = std::move(message);
    diagnostic.source_line = line_;
    diagnostic.length = std::max<int>(1, static_cast<int>(field.text.size()));
    diagnostic.note = std::move(note);
    diagnostics_.error(std::move(diagnostic));
  }

  bool read_names(const std::vector<Field>& names) {
    const std::size_t before = wrong_;
    for (const Field& name : names) {
      const auto known = std::find(kColumns.begin(), kColumns.end(), name.text);
      const auto index = static_cast<std::size_t>(known - kColumns.begin());
      if (known == kColumns.end()) {
        tell(name, "unknown column '" + name.text + "'",
             did_you_mean(name.text, std::vector<std::string>{kColumns.begin(), kColumns.end()}, "columns"));
      } else if (std::find(columns_.begin(), columns_.end(), index) != columns_.end()) {
        tell(name, "column '" + name.text + "' is given twice");
      }
      columns_.push_back(index);
    }
    for (std::size_t i = 0; i < kRequiredColumns; ++i) {
      if (std::find(columns_.begin(), columns_.end(), i) == columns_.end() && wrong_ == before)
        tell(names.front(), "expected a column '" + std::string{kColumns[i]} + "'");
    }
    return wrong_ == before;
  }

  void read_row(const std::vector<Field>& fields) {
    if (fields.size() != columns_.size())
      return tell(fields.front(),
                  "expected " + std::to_string(columns_.size()) + " values, got " + std::to_string(fields.size()));
    const std::size_t before = wrong_;
    MeasuredProduct product;
    for (std::size_t i = 0; i < fields.size(); ++i) read_field(columns_[i], fields[i], product);
    if (wrong_ != before) return;
    const std::string problem = collector_.add(std::move(product), file_ + ':' + std::to_string(number_));
    if (!problem.empty()) tell(fields.front(), problem);
  }

  void read_field(std::size_t column, const Field& field, MeasuredProduct& product) {
    const std::string got = ", got '" + field.text + "'";
    const auto whole = [&](std::int64_t least, std::int64_t& out) {
      const auto number = parse_integer(field.text);
      if (!number || *number < least || *number > kMostElements)
        return tell(field,
                    std::string{kColumns[column]} + ": expected a whole number of at least " + std::to_string(least) + got);
      out = *number;
    };
    const auto name = [&](const std::vector<std::string>& names, const char* plural, std::string& out) {
      if (!is_one_of(names, field.text))
        return tell(field, "unknown " + std::string{kColumns[column]} + " '" + field.text + "'",
                    did_you_mean(field.text, names, plural));
      out = field.text;
    };
    switch (column) {
      case 0:
        return whole(1, product.m);
      case 1:
        return whole(1, product.n);
      case 2:
        return whole(1, product.k);
      case 3:
        return name(product_types(), "types", product.type);
      case 4: {
        const auto us = parse_number(field.text);
        if (!us || !(*us > 0) || *us > 1e12) return tell(field, "time_us: expected a time above 0 in us" + got);
        product.time = Duration::nearest_ps(*us * 1e6);
        return;
      }
      case 5:
        return name(scale_names(), "scales", product.scales);
      case 6: {
        if (field.text != "0" && field.text != "1") return tell(field, "quantized: expected 0 or 1" + got);
        product.quantized = field.text == "1";
        return;
      }
      default:
        return whole(0, product.weight_copies);
    }
  }

  std::string file_;
  Collector& collector_;
  Diagnostics& diagnostics_;
  std::vector<std::size_t> columns_;
  std::string line_;
  int number_ = 0;
  std::size_t wrong_ = 0;
};

void read_own(const ConfigNode& node, Collector& collector, ProductTable& table, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.errors().size();
  ParamReader reader{node, diagnostics};
  MeasuredProduct product;
  const auto range = between(std::int64_t{1}, kMostElements);
  product.m = reader.required<std::int64_t>("m", range);
  product.n = reader.required<std::int64_t>("n", range);
  product.k = reader.required<std::int64_t>("k", range);
  product.type = reader.choice("type", product_types(), product.type);
  product.time = reader.required<Duration>("time", positive);
  product.scales = reader.choice("scales", scale_names(), product.scales);
  product.quantized = reader.optional<bool>("quantized", false);
  product.weight_copies = reader.optional<std::int64_t>("weight_copies", 0, between(std::int64_t{0}, kMostElements));
  reader.finish();
  if (diagnostics.errors().size() != before) return;
  const Location where = node.location();
  const std::string problem = collector.add(product, where.file + ':' + std::to_string(where.line));
  if (!problem.empty()) return reader.error_here(problem);
  table.own_rows.push_back(std::move(product));
}

}  // namespace

const std::vector<std::string>& product_types() {
  static const std::vector<std::string> names{"bf16",  "fp16",  "tf32", "fp32",  "fp8",  "mxfp8",
                                              "nvfp4", "mxfp4", "int8", "w8a16", "w4a16"};
  return names;
}

std::shared_ptr<const ProductTable> read_product_table(ParamReader& profile) {
  const auto list = profile.optional_raw("products");
  if (!list) return nullptr;
  if (!list->is_list()) {
    profile.error("products", "expected a list of files and products, got " + found_text(*list));
    return nullptr;
  }
  auto table = std::make_shared<ProductTable>();
  Collector collector{*table};
  for (std::size_t i = 0; i < list->size(); ++i) {
    const ConfigNode node = (*list)[i];
    if (node.is_map()) {
      read_own(node, collector, *table, profile.diagnostics());
      continue;
    }
    if (!node.is_scalar()) {
      profile.diagnostics().error(node.diagnostic(node.path() + ": expected a file or a product, got " + found_text(node)));
      continue;
    }
    try {
      table->files.push_back(referenced_file(node).string());
      TableFile{table->files.back(), collector, profile.diagnostics()}.read();
    } catch (const ConfigError& error) {
      profile.diagnostics().absorb(error);
    }
  }
  return table;
}

std::string product_table_csv(const std::vector<MeasuredProduct>& rows) {
  std::string text = "m,n,k,type,time_us,scales,quantized,weight_copies\n";
  for (const MeasuredProduct& p : rows) {
    text += std::to_string(p.m) + ',' + std::to_string(p.n) + ',' + std::to_string(p.k) + ',' + p.type + ',' +
            number_text(p.time.us()) + ',' + p.scales + (p.quantized ? ",1," : ",0,") + std::to_string(p.weight_copies) + '\n';
  }
  return text;
}

}  // namespace weft
