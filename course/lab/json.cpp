#include <nlohmann/json.hpp>

#include "course/algorithms/units.hpp"
#include "course/lab/measured.hpp"
#include "course/lab/verdict.hpp"

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

Json ratio_json(const std::optional<Interval>& ratio) {
    return ratio ? Json{{"ratio", ratio->value}, {"low", ratio->low}, {"high", ratio->high}}
                 : Json(nullptr);
}

Json row_json(const Row& row, std::string_view redop) {
    const Point& point = row.point;
    return {
        {"size_bytes", point.size_bytes},
        {"count", point.size_bytes / sizeof(float)},
        {"asked_for", !point.between},
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
        {"rank_min_us", point.fastest_rank_s * kMicro},
        {"rank_mean_us", point.mean_over_ranks_s * kMicro},
        {"unsettled", point.unsettled.empty() ? Json(nullptr) : Json(point.unsettled)},
        {"vs_naive", ratio_json(point.vs_naive)},
        {"vs_mpi", ratio_json(point.vs_mpi)},
        {"bound_us", row.bound_s * kMicro},
        {"efficiency", or_null(row.efficiency)},
        {"chose", point.chose.empty() ? Json(nullptr) : Json(point.chose)}};
}

/// `unit`: "bytes" or "ranks".
Json verdict_json(const Verdict& verdict, const std::string& unit, const std::string& said) {
    Json document{
        {"first", verdict.first},
        {"second", verdict.second},
        {"in_words", said},
        {"crossings", Json::array()},
        {"standings", Json::array()}};
    for (const Crossing& crossing : verdict.crossings()) {
        document["crossings"].push_back(
            {{"faster_from_here", crossing.to_second ? verdict.second : verdict.first},
             {"low_" + unit, crossing.low},
             {"high_" + unit, crossing.high}}
        );
    }
    for (const Standing& standing : verdict.standings) {
        document["standings"].push_back(
            {{unit, standing.x},
             {"second_is", name_of(standing.lead)},
             {"lead_beyond", standing.margins.lead},
             {"level_within", standing.margins.level},
             {"first_over_second", ratio_json(standing.ratio)}}
        );
    }
    return document;
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
        document["points"].push_back(row_json(row, redop(measured)));
    }
    for (const Choice& choice : measured.choices) {
        document["choices"].push_back(
            {{"size_bytes", choice.size_bytes},
             {"chose", choice.best.name},
             {"by_model", choice.by_model.name},
             {"model_over_best", choice.model_over_best}}
        );
    }
    const Verdict verdict = verdict_over_sizes(measured, kFirst, kSecond);
    document["verdict"] = verdict_json(verdict, "bytes", sizes_in_words(verdict));
    document["verdict"]["likely"] = likely_in_words(measured);
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
        {"verdicts", Json::array()},
        {"runs", Json::array()}};
    if (const std::string note = note_if_shared(measurements); !note.empty()) {
        document["notes"].push_back(note);
    }
    for (const Measured& measured : measurements) {
        document["ranks"].push_back(measured.machine.ranks);
        document["runs"].push_back(measured_json(measured));
    }
    for (const std::size_t size : common_sizes(measurements)) {
        const Verdict verdict = verdict_over_ranks(measurements, size, kFirst, kSecond);
        Json one = verdict_json(verdict, "ranks", ranks_in_words(verdict));
        one["size_bytes"] = size;
        document["verdicts"].push_back(one);
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
