#include <nlohmann/json.hpp>

#include "course/lab/report.hpp"

namespace dist::lab {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kMicro = 1e6;

Json or_null(std::optional<double> value) {
    return value ? Json(*value) : Json(nullptr);
}

Json machine_json(const Machine& machine) {
    return {
        {"cpu", machine.cpu},
        {"mpi", machine.mpi},
        {"mpi_settings", machine.mpi_settings},
        {"nodes", machine.nodes},
        {"cores_per_node", machine.cores},
        {"bound_to_cores", machine.bound},
        {"oversubscribed", machine.oversubscribed()},
        {"load", machine.load}};
}

Json row_json(const Row& row, std::string_view redop) {
    const Point& point = row.point;
    return {
        {"size_bytes", point.size_bytes},
        {"count", point.size_bytes / sizeof(float)},
        {"type", "float"},
        {"redop", redop},
        {"algorithm", point.algorithm},
        {"time_us", point.median_s * kMicro},
        {"min_us", point.min_s * kMicro},
        {"p95_us", point.p95_s * kMicro},
        {"algbw_gbs", row.algbw_gbs},
        {"busbw_gbs", row.busbw_gbs},
        {"wrong", point.wrong},
        {"clean", point.clean},
        {"run", point.run},
        {"vs_naive", or_null(row.vs_naive)},
        {"vs_mpi", or_null(row.vs_mpi)},
        {"bound_us", row.bound_s * kMicro},
        {"efficiency", or_null(row.efficiency)}};
}

}  // namespace

std::string to_json(const Report& report) {
    Json document{
        {"bench", report.collective.name},
        {"ranks", report.machine.ranks},
        {"seed", report.seed},
        {"machine", machine_json(report.machine)},
        {"notes", report.notes},
        {"points", Json::array()},
        {"fits", Json::array()}};
    for (const Row& row : rows(report)) {
        document["points"].push_back(row_json(row, report.collective.redop));
    }
    for (const auto& [algorithm, line] : fits(report)) {
        document["fits"].push_back(
            {{"algorithm", algorithm},
             {"alpha_us", line ? Json(line->alpha_s * kMicro) : Json(nullptr)},
             {"beta_gbs", line ? Json(line->beta_bytes_per_s / 1e9) : Json(nullptr)},
             {"r2", line ? Json(line->r2) : Json(nullptr)}}
        );
    }
    return document.dump(2) + "\n";
}

}  // namespace dist::lab
