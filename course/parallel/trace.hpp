// What a rank did when, for Perfetto and for HTA (Holistic Trace Analysis): --trace.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// The two things that may go on at the same time.
enum class Lane { compute = 1, communication = 2 };

/// Spans of one rank in ten steps, from the third on: in the first two memory is new, and plans are made.
/// Written as Chrome's trace events, in which work stands for kernels of a GPU: that is what HTA reads.
class Trace {
  public:
    /// folder  gets rank0.json, rank1.json, ...; empty: nothing is recorded.
    /// comm    collective: every rank of `comm` makes this call.
    ///
    /// Errors  Stop, on every rank, if a file could not be written.
    Trace(std::filesystem::path folder, const Communicator& comm);

    /// The spans that follow belong to the next step.
    void begin_step();

    /// This step is over.
    void end_step();

    /// Adds a span, in seconds of now_s(). May be called by several threads.
    ///
    /// name  of communication: what HTA takes for NCCL's, see all_reduce_name().
    void add(Lane lane, const std::string& name, double begin_s, double end_s);

    /// Writes this rank's file, and returns what to tell people; nothing if no trace was asked for.
    ///
    /// Errors  std::system_error with the system's reason.
    [[nodiscard]] std::string write() const;

  private:
    struct Span {
        Lane lane = Lane::compute;
        std::string name;
        double begin_s = 0;
        double end_s = 0;
    };

    std::filesystem::path folder_;
    int rank_;
    int size_;
    double origin_s_;  // the same moment on all ranks that share a clock
    bool is_recording_ = false;
    std::size_t begun_ = 0;  // steps
    double step_begin_s_ = 0;
    std::vector<Span> steps_;
    std::vector<Span> spans_;
    mutable std::mutex lock_;  // spans come from several threads
};

/// "ncclDevKernel_AllReduce_Sum_f32_RING bucket 3": the name under which HTA looks for communication.
std::string all_reduce_name(const std::string& what);

}  // namespace dist::trainer
