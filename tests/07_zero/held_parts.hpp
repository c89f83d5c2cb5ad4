// Shards whose elements tell where they are from: what a rank holds of a model, and what is saved.
#pragma once

#include <ATen/ops/arange.h>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"
#include "tests/07_zero/models.hpp"

namespace dist::harness {

using Parts = std::vector<nn::TensorPart>;
using Names = std::vector<std::string>;

/// Models that shards cut in all ways: in the middle of a tensor, several tensors in a shard, none.
inline const std::vector<Shapes> kCutModels = {
    kShapes,    {{1}, {0}, {1}}, {{0}}, {}, {{2, 6}}, {{1}, {1}, {1}, {1}, {1}, {1}, {1}},
    {{13}, {0}}};

inline Names names_of(const Tensors& tensors, const std::string& prefix = "") {
    Names names;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        names.push_back(prefix + "layer" + std::to_string(i));
    }
    return names;
}

constexpr int kMostElements = 1000;  // of a tensor
constexpr float kPadding = -1;

/// Element k of tensor i is 1000 i + k.
inline at::Tensor labelled_row(const Shapes& shapes, int p) {
    std::vector<float> row;
    const Tensors tensors = zeros(shapes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (std::size_t k = 0; k < count(tensors[i]); ++k) {
            row.push_back(static_cast<float>(kMostElements * i + k));
        }
    }
    while (row.size() % static_cast<std::size_t>(p) != 0) {
        row.push_back(kPadding);
    }
    return filled({static_cast<std::int64_t>(row.size())}, row);
}

inline at::Tensor labelled_shard(const Shapes& shapes, const Communicator& comm) {
    const at::Tensor row = labelled_row(shapes, comm.size());
    const std::int64_t length = row.numel() / comm.size();
    return row.narrow(0, comm.rank() * length, length).clone();
}

inline std::string text_of(const Parts& parts) {
    std::string text;
    for (const nn::TensorPart& part : parts) {
        text += part.name + " [" + std::to_string(part.begin) + ", " +
                std::to_string(part.begin + part.data.numel()) + ") of " +
                std::to_string(part.numel) + "; ";
    }
    return text;
}

/// The parts of a shard, as its labels tell them.
inline Parts parts_of_labels(const Shapes& shapes, const at::Tensor& shard) {
    const Tensors tensors = zeros(shapes);
    Parts parts;
    for (std::int64_t j = 0; j < shard.numel(); ++j) {
        const int value = static_cast<int>(shard[j].item<float>());
        if (value < 0) {
            break;  // padding
        }
        const auto i = static_cast<std::size_t>(value / kMostElements);
        const int k = value % kMostElements;
        const std::string name = names_of(tensors)[i];
        if (parts.empty() || parts.back().name != name) {
            parts.push_back({name, tensors[i].numel(), k, shard.narrow(0, j, 0)});
        }
        at::Tensor& data = parts.back().data;
        data = shard.narrow(0, j - data.numel(), data.numel() + 1);
    }
    return parts;
}

/// Weights of labels, and what an optimizer keeps of them: negative labels.
struct HeldModel {
    at::Tensor weights;
    at::Tensor exp_avg;
    Parts parts;

    HeldModel(const Shapes& shapes, const Communicator& comm)
        : weights(labelled_shard(shapes, comm)), exp_avg(weights.neg()) {
        const Tensors tensors = zeros(shapes);
        parts = parts_of_shard(names_of(tensors), tensors, weights, comm);
        const Names names = names_of(tensors, "optimizer.exp_avg.");
        for (const nn::TensorPart& part : parts_of_shard(names, tensors, exp_avg, comm)) {
            parts.push_back(part);
        }
    }
};

/// Elements that were wanted, and what was in their place before.
inline Comparison same_loaded(const at::Tensor& got, const at::Tensor& expected, float before) {
    return same(
        elements(got), elements(expected), 0.0,
        {{std::vector<float>(count(got), before),
          "that is what was there before: load_sharded returned, and nothing was loaded"}}
    );
}

/// Loads what a HeldModel on any number of ranks has saved.
inline void loads_right(
    const std::filesystem::path& folder,
    const Shapes& shapes,
    std::int64_t step,
    const Communicator& comm
) {
    const HeldModel right(shapes, comm);
    const HeldModel loaded(shapes, comm);
    loaded.weights.fill_(kPadding);
    loaded.exp_avg.fill_(-kPadding);
    INFO(
        "saved on " << counted(step, "rank") << ", loaded on " << comm.size() << "; here "
                    << text_of(loaded.parts)
    );
    const std::int64_t loaded_step = load_sharded(folder, loaded.parts, comm);
    INFO("element k of layer i is 1000 i + k");
    CHECK(same_loaded(loaded.weights, right.weights, kPadding));
    CHECK(same_loaded(loaded.exp_avg, right.exp_avg, -kPadding));
    CHECK(loaded_step == step);
}

/// A whole tensor of 10 floats, `first` and those that follow.
inline Parts ten(float first) {
    return {{"w", 10, 0, at::arange(first, first + 10, at::kFloat)}};
}

/// Intervals of that tensor.
using Cut = std::vector<std::pair<int, int>>;

/// The intervals are given to one rank after the other.
inline Parts parts_of(const Cut& cut, const Communicator& comm) {
    Parts parts;
    for (std::size_t i = 0; i < cut.size(); ++i) {
        if (static_cast<int>(i) % comm.size() == comm.rank()) {
            const auto [begin, end] = cut[i];
            parts.push_back({"w", 10, begin, at::arange(begin, end, at::kFloat)});
        }
    }
    return parts;
}

inline std::string text_of(const Cut& cut) {
    std::string text = "saved, each by the next rank:";
    for (const auto& [begin, end] : cut) {
        text += " [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
    }
    return text;
}

}  // namespace dist::harness
