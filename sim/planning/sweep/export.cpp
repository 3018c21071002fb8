#include "sim/planning/sweep/export.h"

#include <ostream>
#include <string>

#include "sim/core/config/quantity.h"
#include "sim/core/csv_field.h"

namespace weft::plan {
namespace {

std::string csv_cell(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return number_text(*real);
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_field(*text);
  return {};
}

void write_cell(JsonWriter& json, const std::string& name, const Cell& cell) {
  json.key(name);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    json.value(*whole);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    json.value(*real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    json.value(*text);
  } else {
    json.null();
  }
}

}  // namespace

void write_sweep_csv(std::ostream& out, const SweepPlan& plan, const SweepDatabase& database) {
  out << "id,status";
  for (const SweepColumn& column : plan.axes) out << ',' << csv_field(column.name);
  for (const SweepColumn& column : plan.metrics) out << ',' << csv_field(column.name);
  out << ",digest,error\n";
  database.read([&](const PointRow& row) {
    out << row.id << ',' << row.status();
    for (const Cell& cell : row.axes) out << ',' << csv_cell(cell);
    for (const Cell& cell : row.metrics) out << ',' << csv_cell(cell);
    out << ',' << row.digest << ',' << csv_field(row.error) << '\n';
  });
}

void write_sweep_json(std::ostream& out, const ResultHeader& header, const SweepPlan& plan, const SweepDatabase& database) {
  JsonWriter json{out};
  json.begin_object();
  write_header(json, header);
  json.field("points_total", plan.points.size());
  json.key("axes").begin_array();
  for (const SweepColumn& column : plan.axes) {
    json.begin_object().field("name", column.name).field("key_path", column.path).end_object();
  }
  json.end_array().key("metrics").begin_array();
  for (const SweepColumn& column : plan.metrics) {
    json.begin_object().field("name", column.name).field("summary", column.metric->summary).end_object();
  }
  json.end_array().key("points").begin_array();
  database.read([&](const PointRow& row) {
    json.begin_object().field("id", row.id).field("status", row.status());
    for (std::size_t i = 0; i < plan.axes.size(); ++i) write_cell(json, plan.axes[i].name, row.axes[i]);
    for (std::size_t i = 0; i < plan.metrics.size(); ++i) write_cell(json, plan.metrics[i].name, row.metrics[i]);
    if (!row.digest.empty()) json.field("digest", row.digest);
    if (!row.error.empty()) json.field("error", row.error);
    json.end_object();
  });
  json.end_array().end_object();
  json.finish();
}

}  // namespace weft::plan
