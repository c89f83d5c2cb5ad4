// Exercise 09: steps that do not wait for the slowest worker, up to a bound; and sums without a
// lock.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "course/runtime/error.hpp"
#include "course/runtime/parameter_table.hpp"

namespace dist {

/// A table whose workers may be some steps apart (stale synchronous parallel). The clock of a
/// worker says how many gradients it has pushed: it is 0 at first. The *slowest* is the smallest
/// clock of those that are there; where nobody is, nobody is slow.
///
/// A worker with clock c may go on when
///
///     slowest >= c - staleness                                                            (1)
///
/// So it is at most `staleness` ahead of the slowest. A row that it is given then has the gradients
/// of all workers' steps before c - staleness, and its own of all steps.
///
/// A gradient waits, too: it counts as soon as (1) holds for its worker's new clock. Those that
/// begin to count at the same time are one step: the sum of them, from the lowest worker to the
/// highest, divided by p once, also where fewer are in it. So with staleness 0 all is as in a
/// synchronous table, bit for bit. Without a bound no one waits, and each gradient is a step of its
/// own.
///
/// Cost    the table keeps a gradient for each worker at most, as long as it waits.
/// Source  Ho et al. (2013), "More Effective Distributed ML via a Stale Synchronous Parallel
///         Parameter Server", section 2.
class StaleTable : public ParameterTable {
  public:
    static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

    /// row        there as long as this object, which alone changes it.
    /// workers    p.
    /// staleness  >= 0, or kUnbounded.
    ///
    /// Errors  std::invalid_argument if p < 1 or staleness < 0.
    StaleTable(std::span<float> row, int workers, std::int64_t staleness, Step step);
    ~StaleTable() override;
    StaleTable(const StaleTable&) = delete;
    StaleTable& operator=(const StaleTable&) = delete;

    /// step  the worker's clock, which goes on by one.
    ///
    /// Errors  std::invalid_argument, and nothing has changed: there is no such worker, `step` is
    ///         not its clock, (1) does not hold for it, or the gradient is not as long as the row.
    void push(int worker, std::int64_t step, std::span<const float> gradient) override;

    /// Gives the reader the newest row, when (1) holds: at once, or in the call that makes it so.
    ///
    /// step  the worker's clock.
    ///
    /// Errors  std::invalid_argument: there is no such worker, or `step` is not its clock.
    void pull(int worker, std::int64_t step, Reader reader) override;

    /// Nobody waits for it any more. What it has pushed counts.
    void leave(int worker, const std::string& reason) override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// Adds an update to a row that others add to at the same time: threads, or processes that share
/// the memory. There is no lock, and no addition is lost. Elements whose update is 0 are not
/// touched.
///
/// shared  of any length; all ranks give the same memory.
/// update  as long; nobody else changes it.
///
/// Cost    an atomic addition for each element whose update is not 0. Nobody waits.
/// Errors  std::invalid_argument for another length.
/// Source  Niu, Recht, Re, Wright (2011), "HOGWILD!: A Lock-Free Approach to Parallelizing
///         Stochastic Gradient Descent", whose updates are sparse, so that two seldom meet.
void hogwild_add(std::span<float> shared, std::span<const float> update);

}  // namespace dist
