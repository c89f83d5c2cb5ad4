#include <nlohmann/json.hpp>

#include "course/algorithms/units.hpp"
#include "course/lab/crossover.hpp"
#include "course/lab/report.hpp"

namespace dist::lab {
namespace {

using Json = nlohmann::ordered_json;

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
        {"efficiency", or_null(row.efficiency)},
        {"chose", point.chose.empty() ? Json(nullptr) : Json(point.chose)}};
}

Json or_null(const std::optional<Crossover>& at) {
    return at ? Json{{"at", at->x}, {"low", at->low}, {"high", at->high}} : Json(nullptr);
}

Json report_json(const Report& report) {
    Json document{
        {"bench", report.collective.name},
        {"ranks", report.machine.ranks},
        {"seed", report.seed},
        {"machine", machine_json(report.machine)},
        {"notes", report.notes},
        {"points", Json::array()},
        {"choices", Json::array()},
        {"fits", Json::array()}};
    for (const Row& row : rows(report)) {
        document["points"].push_back(row_json(row, report.collective.redop));
    }
    for (const Choice& choice : report.choices) {
        document["choices"].push_back(
            {{"size_bytes", choice.size_bytes},
             {"chose", choice.best.name},
             {"by_model", choice.by_model.name},
             {"model_over_best", choice.model_over_best}}
        );
    }
    document["ring_passes_naive_bytes"] = or_null(crossover_of(report, "naive", "ring"));
    for (const auto& [algorithm, fit] : fits(report)) {
        document["fits"].push_back(
            fit.line ? Json{{"algorithm", algorithm},
                            {"alpha_us", fit.line->cost.alpha_s * kMicro},
                            {"beta_gbs", 1e-9 / fit.line->cost.beta_s_per_byte},
                            {"beta_ns_per_byte", fit.line->cost.beta_s_per_byte * 1e9},
                            {"r2", fit.line->r2}}
                     : Json{{"algorithm", algorithm},
                            {"alpha_us", nullptr},
                            {"beta_gbs", nullptr},
                            {"beta_ns_per_byte", nullptr},
                            {"r2", nullptr},
                            {"why_none", fit.why_none}}
        );
    }
    return document;
}

/// What several numbers of ranks say together.
Json over_ranks_json(const std::vector<Report>& reports) {
    Json document{
        {"bench", reports.front().collective.name},
        {"ranks", Json::array()},
        {"notes", Json::array()},
        {"ring_passes_naive_ranks", Json::array()},
        {"runs", Json::array()}};
    if (const std::string note = note_if_shared(reports); !note.empty()) {
        document["notes"].push_back(note);
    }
    for (const Report& report : reports) {
        document["ranks"].push_back(report.machine.ranks);
        document["runs"].push_back(report_json(report));
    }
    for (const std::size_t size : sizes_of(reports.front())) {
        document["ring_passes_naive_ranks"].push_back(
            {{"size_bytes", size},
             {"crossover", or_null(crossover_of(reports, size, "naive", "ring"))},
             {"in_words", crossover_in_words(reports, size, "naive", "ring")}}
        );
    }
    return document;
}

}  // namespace

std::string to_json(const std::vector<Report>& reports) {
    const Json document =
        reports.size() == 1 ? report_json(reports.front()) : over_ranks_json(reports);
    return document.dump(2) + "\n";
}

}  // namespace dist::lab
