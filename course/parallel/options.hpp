// What the ways of sharing a model need to know of a run.
#pragma once

#include <cstddef>
#include <string>

#include "course/nn/bucket_limits.hpp"
#include "course/nn/gpt_shape.hpp"
#include "course/parallel/mesh_shape.hpp"
#include "course/parallel/ways.hpp"

namespace dist {
class Rpc;
}

namespace dist::trainer {

/// The model of text; all others are of pictures.
inline constexpr const char* kGpt = "gpt";

struct ParallelOptions {
    std::string model = "resnet34";
    nn::GptShape gpt;  ///< of model gpt
    Parallel parallel = Parallel::average;
    std::size_t bucket_cap_mb = nn::kBucketCapMb;  ///< of ddp
    std::size_t replicas = 2;                      ///< of dp
    int shard_ranks = 0;                           ///< of zero3: that have one copy; 0: all
    int servers = 1;                               ///< of ps: the last ranks
    std::int64_t staleness = 0;                    ///< of ps: steps that a worker may be ahead
    Rpc* rpc = nullptr;                            ///< of ps: all ranks
    MeshShape mesh;                                ///< of 3d, as all down to zero
    std::string pipeline = "1f1b";                 ///< or "gpipe", "interleaved", "zb"
    int chunks = 1;                                ///< stages of a rank; of interleaved
    int micro_batches = 1;                         ///< of a rank's batch
    bool sequence_parallel = false;                ///< between cut layers, tp shares the tokens
    int zero = 0;                                  ///< what is cut over the ranks of dp and cp
    std::string dtype = "fp32";
    std::string device = "cpu";     ///< or "cuda": a GPU a rank
    std::string optimizer = "sgd";  ///< or "adamw"
    double rate = 0;                ///< the highest: see schedule.hpp. Given, or usual_rate's
    double momentum = 0.9;          ///< of sgd
    double weight_decay = 5e-4;
};

}  // namespace dist::trainer
