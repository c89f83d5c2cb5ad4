#include "course/simulate/gpt_layouts.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace dist::cli {
namespace {

/// What divides n, ascending; where one is asked for, that alone.
std::vector<int> divisors(int n, int asked = 0) {
    std::vector<int> found;
    for (int i = 1; i <= n; ++i) {
        if (n % i == 0 && (asked == 0 || i == asked)) {
            found.push_back(i);
        }
    }
    return found;
}

/// All that runs on a mesh.
void add_layouts(
    const GptTraining& training,
    const GptChoice& choice,
    const GptLayout& mesh,
    std::vector<GptLayout>& layouts
) {
    for (const int micro_batch : divisors(training.batch / mesh.dp, choice.micro_batch)) {
        const int m = training.batch / mesh.dp / micro_batch;
        const bool interleaved = mesh.pp > 1 && m % mesh.pp == 0;
        for (const int chunks :
             divisors(interleaved ? training.model.layers / mesh.pp : 1, choice.chunks)) {
            for (const bool recompute : {true, false}) {
                for (const int zero : {0, 1}) {
                    if (recompute == choice.recompute.value_or(recompute) &&
                        zero == choice.zero.value_or(zero) && (zero == 0 || mesh.dp > 1)) {
                        GptLayout layout = mesh;
                        layout.micro_batch = micro_batch;
                        layout.chunks = chunks;
                        layout.recompute = recompute;
                        layout.zero = zero;
                        layouts.push_back(layout);
                    }
                }
            }
        }
    }
}

bool faster(const GptFound& one, const GptFound& other) {
    const auto key = [](const GptFound& found) {
        return std::pair(found.time.step_s(), found.memory.bytes());
    };
    return key(one) < key(other);
}

}  // namespace

std::vector<GptLayout> layouts_of(const GptTraining& training, const GptChoice& choice) {
    const int per_node = training.cluster.per_node;
    std::vector<GptLayout> layouts;
    for (const int tp : divisors(training.ranks, choice.tp)) {
        if (training.model.heads % tp != 0 || (per_node % tp != 0 && tp % per_node != 0)) {
            continue;
        }
        for (const int pp : divisors(training.ranks / tp, choice.pp)) {
            const int dp = training.ranks / tp / pp;
            if (training.model.layers % pp == 0 && training.batch % dp == 0 &&
                (choice.dp == 0 || choice.dp == dp)) {
                add_layouts(training, choice, {.dp = dp, .tp = tp, .pp = pp}, layouts);
            }
        }
    }
    return layouts;
}

GptFound found_with(const GptTraining& training, const GptLayout& layout) {
    GptFound found = {layout, time_of(training, layout), memory_of(training, layout)};
    found.tflops =
        flops_of(training, layout.recompute) / found.time.step_s() / training.ranks / kTera;
    return found;
}

GptSearch search_layouts(const GptTraining& training, const GptChoice& choice) {
    GptSearch search;
    std::map<std::tuple<int, int, int>, GptFound> fastest;
    for (const GptLayout& layout : layouts_of(training, choice)) {
        const GptFound found = found_with(training, layout);
        const double bytes = found.memory.bytes();
        search.least_bytes = search.layouts == 0 ? bytes : std::min(search.least_bytes, bytes);
        ++search.layouts;
        if (bytes > training.card.memory_bytes) {
            continue;
        }
        ++search.fit;
        if (choice.one_mesh()) {
            search.found.push_back(found);
            continue;
        }
        const auto [at, is_new] = fastest.try_emplace({layout.dp, layout.tp, layout.pp}, found);
        if (!is_new && faster(found, at->second)) {
            at->second = found;
        }
    }
    for (const auto& [mesh, found] : fastest) {
        search.found.push_back(found);
    }
    std::ranges::sort(search.found, faster);
    return search;
}

}  // namespace dist::cli
