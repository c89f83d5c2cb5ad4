// How benches measure whole steps of training: every way in turn, in an order drawn anew for each round.
#pragma once

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <torch/utils.h>

#include "course/files/atomic_file.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/options.hpp"
#include "course/lab/other_work.hpp"
#include "course/lab/step_options.hpp"
#include "course/nn/batch.hpp"
#include "course/runtime/environment.hpp"

namespace dist::lab {

/// Pictures of noise: what is in them takes no more or less time.
inline nn::Batch noise(std::int64_t size, int rank, int round) {
    torch::manual_seed(static_cast<std::uint64_t>(1000 * round + rank));
    return {at::randn({size, 3, 32, 32}), at::randint(10, {size}, at::kLong)};
}

/// "round 3 of 17", on a terminal.
inline void show_progress(
    const StepOptions& options, const std::string& text, const Communicator& comm
) {
    if (options.progress && comm.rank() == 0) {
        std::fprintf(stderr, "\r%-40s\r%s", "", text.c_str());
    }
}

/// One round: step(i) of each of n ways, in an order drawn anew.
inline std::vector<Timing> time_round(
    std::size_t n, int round, const std::function<void(std::size_t)>& step, const Communicator& comm
) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(round)));
    std::vector<Timing> timings(n);
    for (const std::size_t i : order) {
        const Sample sample = time_call(comm, [&] { step(i); });
        timings[i].max_s = slowest(sample.seconds, comm);
    }
    return timings;
}

/// Times steps of n ways, all with the same batch in a round, each round a block of its own: as many as asked for, and
/// then on until the times have settled, or the most are done. Two rounds before them do not count: the optimizer makes
/// its state, and plans are made anew.
///
/// step   one of a way, with this batch.
/// after  called after each round that counts.
inline std::vector<Block> time_steps(
    std::size_t n,
    const StepOptions& options,
    const std::function<void(std::size_t, const nn::Batch&)>& step,
    const std::function<void()>& after,
    const Communicator& comm
) {
    constexpr int kWarmUp = 2;
    std::vector<Block> blocks;
    OtherWork others(comm);
    for (int round = 0; round < kWarmUp + options.rounds ||
                        (round < kWarmUp + options.most_rounds && !all_settled(blocks));
         ++round) {
        const int all =
            kWarmUp + (round < kWarmUp + options.rounds ? options.rounds : options.most_rounds);
        show_progress(
            options, "round " + std::to_string(round) + " of " + std::to_string(all), comm
        );
        const nn::Batch batch = noise(options.batch, comm.rank(), round);
        others.share();
        const std::vector<Timing> timings = time_round(
            n, round, [&](std::size_t i) { step(i, batch); }, comm
        );
        const double share = others.share();
        if (round >= kWarmUp) {
            blocks.push_back({{timings}, share});
            after();
        }
    }
    show_progress(options, "", comm);
    return blocks;
}

/// A bench's main: `answer` gives the text for standard output, or for the file that it names in `to`.
inline int run_bench(
    const std::string& name,
    const Communicator& comm,
    const std::function<std::string(std::string& to)>& answer
) {
    constexpr int kUsage = 2;
    try {
        std::string to;
        const std::string text = answer(to);
        if (comm.rank() == 0) {
            if (to.empty()) {
                std::fputs(text.c_str(), stdout);
            } else {
                files::write_atomically(to, text);
            }
        }
        return 0;
    } catch (const UsageError& error) {
        if (comm.rank() == 0) {
            std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
        }
        return kUsage;
    }
}

}  // namespace dist::lab
