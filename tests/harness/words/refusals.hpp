// Calls that are refused: in time, and with everything as it was. Buffers that do not fit: who has to notice, and
// how.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/harness/words/patterns.hpp"

namespace dist::harness {

/// `call` is refused by std::invalid_argument before its first message, and leaves all as it was. Every rank of
/// `comm` makes it; or only those of `ranks`, where the others' arguments are right.
///
/// what       is wrong, for the message: "root 3 of 3 ranks".
/// as_before  says what has changed: as_now() of words/zoo.hpp remembers tensors.
void refuses(
    const Communicator& comm,
    const std::string& what,
    const std::function<void()>& call,
    const std::function<Comparison()>& as_before = [] { return Comparison(); },
    const std::set<int>& ranks = {}
);

/// Buffers::data, which tests and headers call in; or Buffers::out.
using Part = std::vector<float> Buffers::*;

/// A rank whose `buffer` is one float too long or too short is refused by std::invalid_argument before
/// its first message: it makes the call alone, as the root where there is one. Tried on each of
/// `ranks`.
void refuses_lengths(
    const Attempt& attempt,
    Part buffer,
    const std::vector<int>& ranks = {0, 1, 2},
    const std::vector<int>& worlds = {3, 1, 2}
);

/// A message of 2^31 floats, one more than an int can say, is refused by std::invalid_argument on every rank, before
/// any MPI call. `floats` must not be read or written.
void refuses_more_than_an_int(
    const std::function<void(std::span<float> floats, const Communicator&)>& call
);

/// Where a message meets a buffer of another length.
enum class Meets { at_that_rank, at_the_root };

/// Another rank than the root has a `buffer` that is one float too long or too short, each in turn:
/// an exception of `by` where it meets the message, and all others return.
void notices_lengths(
    const Attempt& attempt,
    Part buffer,
    Meets meets,
    const std::vector<int>& worlds,
    const std::set<std::string>& by = {kError}
);

}  // namespace dist::harness
