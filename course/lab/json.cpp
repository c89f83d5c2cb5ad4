#include <nlohmann/json.hpp>

#include "course/algorithms/units.hpp"
#include "course/lab/crossover.hpp"
#include "course/lab/measured.hpp"

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

Json measured_json(const Measured& measured) {
    Json document{
        {"bench", measured.collective.name},
        {"ranks", measured.machine.ranks},
        {"seed", measured.seed},
        {"machine", machine_json(measured.machine)},
        {"notes", measured.notes},
        {"points", Json::array()},
        {"choices", Json::array()},
        {"fits", Json::array()}};
    for (const Row& row : rows(measured)) {
        document["points"].push_back(row_json(row, measured.collective.redop));
    }
    for (const Choice& choice : measured.choices) {
        document["choices"].push_back(
            {{"size_bytes", choice.size_bytes},
             {"chose", choice.best.name},
             {"by_model", choice.by_model.name},
             {"model_over_best", choice.model_over_best}}
        );
    }
    document["ring_passes_naive_bytes"] = or_null(crossover_of(measured, "naive", "ring"));
    for (const auto& [algorithm, fit] : fits(measured)) {
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
Json over_ranks_json(const std::vector<Measured>& measurements) {
    Json document{
        {"bench", measurements.front().collective.name},
        {"ranks", Json::array()},
        {"notes", Json::array()},
        {"ring_passes_naive_ranks", Json::array()},
        {"runs", Json::array()}};
    if (const std::string note = note_if_shared(measurements); !note.empty()) {
        document["notes"].push_back(note);
    }
    for (const Measured& measured : measurements) {
        document["ranks"].push_back(measured.machine.ranks);
        document["runs"].push_back(measured_json(measured));
    }
    for (const std::size_t size : sizes_of(measurements.front())) {
        document["ring_passes_naive_ranks"].push_back(
            {{"size_bytes", size},
             {"crossover", or_null(crossover_of(measurements, size, "naive", "ring"))},
             {"in_words", crossover_in_words(measurements, size, "naive", "ring")}}
        );
    }
    return document;
}

}  // namespace

std::string to_json(const std::vector<Measured>& measurements) {
    const Json document = measurements.size() == 1 ? measured_json(measurements.front())
                                                   : over_ranks_json(measurements);
    return document.dump(2) + "\n";
}

}  // namespace dist::lab
