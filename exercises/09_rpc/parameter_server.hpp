// Exercise 09: parameters that live on servers. Workers pull them, and push gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/parameter_calls.hpp"
#include "course/runtime/parameter_table.hpp"
#include "course/runtime/rpc.hpp"

namespace dist {

/// A table for synchronous training: all workers take each step together. Version 0 is the row as
/// it was given, and step v makes version v + 1 of version v.
class SynchronousTable : public ParameterTable {
  public:
    /// row      there as long as this object, which alone changes it.
    /// workers  p.
    /// step     called once for each version.
    ///
    /// Errors  std::invalid_argument if p < 1.
    SynchronousTable(std::span<float> row, int workers, Step step);
    ~SynchronousTable() override;
    SynchronousTable(const SynchronousTable&) = delete;
    SynchronousTable& operator=(const SynchronousTable&) = delete;

    /// Keeps the gradient until all workers have pushed theirs of this step. Then it takes the
    /// step, on their mean: worker 0's, plus worker 1's, and so on, in this order, and the sum
    /// divided by p once.
    ///
    /// Errors  std::invalid_argument, and nothing has changed: there is no such worker, `step` is
    ///         not version(), the worker has pushed in this step already, or the gradient is not as
    ///         long as the row.
    void push(int worker, std::int64_t step, std::span<const float> gradient) override;

    /// Gives the reader version `version` of the row, and no other: at once, or when it has been
    /// made. Where a worker is gone that has not pushed what it takes, an Error with the reason: at
    /// once.
    ///
    /// Errors  std::invalid_argument if the row is beyond that version.
    void pull(int worker, std::int64_t version, Reader reader) override;

    /// What it has pushed still counts.
    void leave(int worker, const std::string& reason) override;

    /// How many steps were taken.
    [[nodiscard]] std::int64_t version() const;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// A server: a table that workers reach by Rpc (course/runtime/parameter_calls.hpp). The program's
/// loop:
///
///     while (server.serve()) { clock.sleep(1ms); }
///
/// Arguments that step_and_row() refuses, a caller that is no worker, and what the table refuses
/// are errors for the caller.
class ParameterServer {
  public:
    /// Begins to call kStay on each worker, without a deadline.
    ///
    /// rpc      there as long as this object, and so is the table. Nobody calls this rank any more
    ///          when they end.
    /// workers  ranks: worker i of the table is rank workers[i].
    ParameterServer(Rpc& rpc, ParameterTable& table, std::vector<int> workers);
    ~ParameterServer();
    ParameterServer(const ParameterServer&) = delete;
    ParameterServer& operator=(const ParameterServer&) = delete;

    /// Runs what was called until now, then tells the table who is gone since, once: "rank 3 has
    /// left", or the error of the call. Does not wait.
    ///
    /// Returns  whether a worker is still there.
    bool serve();

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// A worker's way to the servers. The parameters are one row, of which each server has a share: so
/// no server is hot, however long one tensor may be.
///
/// A call is made to all servers at once, also to those whose share is empty. Then it waits until
/// all have answered, or one has failed. It waits by rpc and, where it looks at several calls, by
/// the clock.
///
/// Cost    a push is one call of each server, with 4m + 8 bytes to it, m being its share; a pull is
///         one as well, with 8 bytes to it and 4m back. So S servers of p workers take 2pS calls in
///         a step, and each of them sends and receives 2p * 4n/S bytes of floats.
/// Errors  that of the first call that fails. If a server has died, it names that one, at once,
///         also where the others would wait for a long time.
/// Source  Li et al. (2014), "Scaling Distributed Machine Learning with the Parameter Server".
class ParameterClient {
  public:
    /// From now on it is there: a server that asks is answered by leave(). So it is made before
    /// this rank first runs what others call.
    ///
    /// rpc      there as long as this object, and so is the clock. Nobody calls this rank any more
    ///          when they end.
    /// servers  ranks; server i has chunk i of the parameters, as chunk_bounds cuts.
    /// n        parameters, on all workers the same.
    ParameterClient(Rpc& rpc, std::vector<int> servers, std::size_t n, Clock& clock);
    ~ParameterClient();
    ParameterClient(const ParameterClient&) = delete;
    ParameterClient& operator=(const ParameterClient&) = delete;

    /// Returns when all servers have taken their shares of the gradient.
    ///
    /// gradient  n floats.
    ///
    /// Errors  std::invalid_argument for another length, before any call.
    void push(std::int64_t step, std::span<const float> gradient);

    /// Replaces the parameters by the rows of all servers. After an error they are as they were.
    ///
    /// parameters  n floats.
    ///
    /// Errors  std::invalid_argument for another length, before any call; Error if a server's row
    ///         is not as long as its share.
    void pull(std::int64_t step, std::span<float> parameters);

    /// Tells the servers that it makes no more calls, also those that ask later.
    void leave();

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
