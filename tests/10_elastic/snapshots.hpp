// Snapshots in tests: a training whose numbers tell the step and the rank, and what a folder has of it.
#pragma once

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exercises/10_elastic/elastic_sampler.hpp"
#include "exercises/10_elastic/snapshot.hpp"
#include "tests/07_zero/checkpoints.hpp"

namespace dist::harness {

/// What is kept beside the tensors: a position, and what stands for a random generator.
struct Extra {
    EpochPosition at;
    std::uint64_t random = 0;

    bool operator==(const Extra&) const = default;
};

/// Each rank has another one.
inline Extra extra_of(std::int64_t step, int rank) {
    const auto s = static_cast<std::uint64_t>(step);
    return {{s, 10 * s}, 1000 * s + static_cast<std::uint64_t>(rank)};
}

inline std::string text_of(const Extra& extra) {
    return "epoch " + std::to_string(extra.at.epoch) + ", " + std::to_string(extra.at.consumed) +
           " consumed, random " + std::to_string(extra.random);
}

constexpr std::int64_t kWeights = 12;

/// Weights [begin, end): number k is 1000 step + k.
inline at::Tensor weights_of(
    std::int64_t step, std::int64_t begin = 0, std::int64_t end = kWeights
) {
    return at::arange(1000 * step + begin, 1000 * step + end, at::kFloat);
}

/// Weights, which are cut for the ranks, what an optimizer has of them (minus the weight), and extra bytes.
struct Training {
    Parts parts;
    Extra extra;
    int rank;

    explicit Training(const Communicator& comm) : rank(comm.rank()) {
        const std::int64_t begin = kWeights * rank / comm.size();
        const std::int64_t end = kWeights * (rank + 1) / comm.size();
        const at::Tensor weights = weights_of(0, begin, end);
        parts = {{"w", kWeights, begin, weights}, {"optimizer.w", kWeights, begin, weights.neg()}};
    }

    [[nodiscard]] std::span<const std::byte> bytes() const {
        return std::as_bytes(std::span(&extra, 1));
    }

    /// Changes all of it, in its place.
    void goes_to(std::int64_t step) {
        const std::int64_t begin = parts[0].begin;
        const at::Tensor weights = weights_of(step, begin, begin + parts[0].data.numel());
        parts[0].data.copy_(weights);
        parts[1].data.copy_(weights.neg());
        extra = extra_of(step, rank);
    }

    void is_taken(Snapshots& snapshots, std::int64_t step) {
        goes_to(step);
        snapshots.take(step, parts, bytes());
    }
};

inline Comparison same_weights(const at::Tensor& got, std::int64_t step, bool negative) {
    const auto of = [negative](std::int64_t s) {
        const at::Tensor weights = weights_of(s);
        return elements(negative ? weights.neg() : weights);
    };
    const std::string other = ", and the step is that of another snapshot";
    return same(
        elements(got), of(step), 0.0,
        {{of(step - 1), "they are of step " + std::to_string(step - 1) + other},
         {of(step + 1), "they are of step " + std::to_string(step + 1) + other},
         {std::vector<float>(kWeights, -1), "nothing was loaded: -1 was there before"}}
    );
}

inline Comparison same_extra(const Extra& got, std::int64_t step) {
    const Extra expected = extra_of(step, 0);
    std::string text = "expected " + text_of(expected) + "; got " + text_of(got);
    for (int rank = 1; rank < 16; ++rank) {
        text += got == extra_of(step, rank)
                    ? ": these are rank " + std::to_string(rank) + "'s, and rank 0's are saved"
                    : "";
    }
    text += got == extra_of(step - 1, 0) || got == extra_of(step + 1, 0)
                ? ": these are of another step than the weights"
                : "";
    return {got == expected, text};
}

/// What a call throws on this rank. Calls of Snapshots are no business of record(): their thread may be under way.
inline Answer tried(const std::function<void()>& call) {
    try {
        call();
    } catch (const NotImplemented&) {
        throw;
    } catch (const Error& error) {
        return {kError, error.what(), {}};
    } catch (const std::runtime_error& error) {
        return {"std::runtime_error", error.what(), {}};
    } catch (const std::exception& error) {
        return {"std::exception", error.what(), {}};
    }
    return {kReturned, {}, {}};
}

/// Every rank loads the whole: all of it is of one step, which is returned.
inline std::int64_t check_whole(const fs::path& folder, const Communicator& comm) {
    const at::Tensor weights = at::full({kWeights}, -1, at::kFloat);
    const at::Tensor of_optimizer = at::full({kWeights}, -1, at::kFloat);
    const Parts wanted = {{"w", kWeights, 0, weights}, {"optimizer.w", kWeights, 0, of_optimizer}};
    Extra extra;
    std::int64_t step = -1;
    const Answer got = tried([&] {
        step = load_snapshot(folder, wanted, std::as_writable_bytes(std::span(&extra, 1)), comm);
    });
    INFO("load_snapshot: " << (got.text.empty() ? "step " + std::to_string(step) : got.text));
    {
        INFO("there must be a snapshot that can be loaded");
        REQUIRE(got.what == kReturned);
    }
    {
        INFO("the weights: number k is 1000 step + k");
        const Comparison result = same_weights(weights, step, false);
        CHECK(result);
    }
    {
        INFO("what the optimizer keeps: number k is minus weight k");
        const Comparison result = same_weights(of_optimizer, step, true);
        CHECK(result);
    }
    INFO("the extra bytes");
    const Comparison result = same_extra(extra, step);
    CHECK(result);
    return step;
}

/// The folder has the snapshot of this step, whole.
inline void check_snapshot(const fs::path& folder, std::int64_t step, const Communicator& comm) {
    INFO("now the folder must have the snapshot of step " << step);
    const std::int64_t loaded = check_whole(folder, comm);
    CHECK(loaded == step);
}

/// A snapshot is taken and written.
inline void written(
    Snapshots& snapshots, Training& training, std::int64_t step, const Communicator& comm
) {
    training.is_taken(snapshots, step);
    snapshots.wait();
    barrier(comm);
}

}  // namespace dist::harness
