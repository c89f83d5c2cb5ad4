#include "course/simulate/gpt_text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include "course/simulate/simulated_text.hpp"

namespace dist::cli {
namespace {

struct GptColumn {
    std::string_view title;
    int width;
    bool narrow = true;  // a narrow window has room for it
};

constexpr std::array kGptColumns = {
    GptColumn{"#  dp", 5},
    GptColumn{"tp", 3},
    GptColumn{"pp", 3},
    GptColumn{"micro", 5},
    GptColumn{"chunks", 6},
    GptColumn{"recompute", 9},
    GptColumn{"zero", 4},
    GptColumn{"step", 8},
    GptColumn{"work", 5},
    GptColumn{"bubble", 6},
    GptColumn{"tp", 5, false},
    GptColumn{"pp", 5, false},
    GptColumn{"dp", 5, false},
    GptColumn{"optimizer", 9, false},
    GptColumn{"weights", 9, false},
    GptColumn{"optimizer", 9, false},
    GptColumn{"activations", 11, false},
    GptColumn{"held", 6},
    GptColumn{"TFLOP/s", 7}};

using GptCells = std::array<std::string, kGptColumns.size()>;

std::string line_of(const GptCells& cells, bool whole) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (whole || kGptColumns[i].narrow) {
            line += fmt::format("{}{:>{}}", i == 0 ? "" : " ", cells[i], kGptColumns[i].width);
        }
    }
    return line + "\n";
}

GptCells cells_of(const GptFound& found) {
    const auto& [layout, time, memory, tflops] = found;
    const auto share = [step_s = time.step_s()](double part_s) {
        return fmt::format("{:.1f}", 100 * part_s / step_s);
    };
    const auto held = [](double bytes) { return fmt::format("{:.1f}", bytes / kGiga); };
    return {
        std::to_string(layout.dp),
        std::to_string(layout.tp),
        std::to_string(layout.pp),
        std::to_string(layout.micro_batch),
        std::to_string(layout.chunks),
        layout.recompute ? "yes" : "no",
        std::to_string(layout.zero),
        in_seconds(time.step_s()),
        share(time.computation_s),
        share(time.bubble_s),
        share(time.tp_s),
        share(time.pp_s),
        share(time.dp_s),
        share(time.optimizer_s),
        held(memory.parameters_bytes),
        held(memory.optimizer_bytes),
        held(memory.activations_bytes),
        held(memory.bytes()),
        fmt::format("{:.1f}", tflops)};
}

std::string head_of(const GptTraining& training) {
    const GptModel& model = training.model;
    return fmt::format(
        "# training gpt, by formula: {} layers of width {}, {} heads, context {}, vocabulary {}: "
        "{:.1f} billion parameters\n"
        "# {} sequences a step on {} ranks, each with {}; {:.1f} % of both rates are reached\n"
        "# {}\n",
        model.layers, model.width, model.heads, model.context, model.vocabulary,
        model.parameters() / kGiga, training.batch, training.ranks, words_of(training.card),
        100 * training.card.efficiency, place_of(training.cluster)
    );
}

}  // namespace

std::string words_of(const Card& card) {
    return fmt::format(
        "{:.4g} TFLOP/s, {:.4g} GB/s and {:.4g} GB of memory", card.flops_per_s / kTera,
        card.bytes_per_s / kGiga, card.memory_bytes / kGiga
    );
}

std::string table_of(
    const GptSearch& search, const GptTraining& training, bool one_mesh, std::size_t columns
) {
    constexpr std::size_t kWhole = 138;
    const bool whole = columns >= kWhole;
    GptCells titles;
    std::ranges::transform(kGptColumns, titles.begin(), [](const GptColumn& column) {
        return std::string(column.title);
    });
    std::string text = head_of(training) + line_of(titles, whole);
    for (std::size_t i = 0; i < std::min(kShownLayouts, search.found.size()); ++i) {
        text += line_of(cells_of(search.found[i]), whole);
    }
    return text +
           fmt::format(
               "# work to optimizer: % of the step; weights to held: GB on the rank that holds "
               "most; TFLOP/s of a rank, what it computes again included{}\n"
               "# {} of {} layouts fit; {}\n",
               whole ? "" : "; a wider window has more columns", search.fit, search.layouts,
               one_mesh ? "the fastest are shown"
                        : fmt::format(
                              "they have {} meshes, and the fastest of each stands for it",
                              search.found.size()
                          )
           );
}

std::string csv_of(const GptSearch& search) {
    std::string text =
        "dp,tp,pp,micro_batch,chunks,recompute,zero,step_s,computation_s,bubble_s,tp_s,pp_s,dp_s,"
        "optimizer_s,parameters_bytes,optimizer_bytes,activations_bytes,tflops\n";
    for (const auto& [layout, time, memory, tflops] : search.found) {
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.0f},{:.0f},{:.0f},{}\n", layout.dp,
            layout.tp, layout.pp, layout.micro_batch, layout.chunks, layout.recompute ? 1 : 0,
            layout.zero, time.step_s(), time.computation_s, time.bubble_s, time.tp_s, time.pp_s,
            time.dp_s, time.optimizer_s, memory.parameters_bytes, memory.optimizer_bytes,
            memory.activations_bytes, tflops
        );
    }
    return text;
}

nlohmann::json document_of(const GptLayout& layout) {
    return {{"dp", layout.dp},         {"tp", layout.tp},
            {"pp", layout.pp},         {"micro_batch", layout.micro_batch},
            {"chunks", layout.chunks}, {"recompute", layout.recompute},
            {"zero", layout.zero}};
}

nlohmann::json document_of(const GptTraining& training) {
    const Card& card = training.card;
    return {
        {"gradient_bytes", training.gradient_bytes},
        {"sequence_parallel", training.sequence_parallel},
        {"card",
         {{"flops_per_s", card.flops_per_s},
          {"bytes_per_s", card.bytes_per_s},
          {"memory_bytes", card.memory_bytes}}},
        {"cluster", document_of(training.cluster)}};
}

std::string json_of(const GptSearch& search, const GptTraining& training) {
    const GptModel& model = training.model;
    nlohmann::json document = document_of(training);
    document.update(nlohmann::json{
        {"model", "gpt"},
        {"layers", model.layers},
        {"width", model.width},
        {"heads", model.heads},
        {"context", model.context},
        {"vocabulary", model.vocabulary},
        {"parameters", model.parameters()},
        {"batch", training.batch},
        {"ranks", training.ranks},
        {"efficiency", training.card.efficiency},
        {"layouts", search.layouts},
        {"fit", search.fit},
        {"found", nlohmann::json::array()}});
    for (const auto& [layout, time, memory, tflops] : search.found) {
        nlohmann::json found = document_of(layout);
        found.update(nlohmann::json{
            {"step_s", time.step_s()},
            {"computation_s", time.computation_s},
            {"bubble_s", time.bubble_s},
            {"tp_s", time.tp_s},
            {"pp_s", time.pp_s},
            {"dp_s", time.dp_s},
            {"optimizer_s", time.optimizer_s},
            {"parameters_bytes", memory.parameters_bytes},
            {"optimizer_bytes", memory.optimizer_bytes},
            {"activations_bytes", memory.activations_bytes},
            {"tflops", tflops}});
        document["found"].push_back(found);
    }
    return document.dump() + "\n";
}

}  // namespace dist::cli
