// Everything throws: each call of a callback in turn, and not only a std::exception.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/harness/harness.hpp"

namespace dist::harness {

/// What a callback may throw.
enum class Thrown { error, logic_error, number };  // dist::Error; std::logic_error; an int

/// Throws it.
[[noreturn]] void raise(Thrown what);

/// What came out of `call`: "the dist::Error", "the std::logic_error", "the int" that raise() throws; "nothing"; or
/// the text of another exception.
std::string thrown_by(const std::function<void()>& call);

/// The kind of what came out of `call`: kInvalidArgument, kError, "std::logic_error", "nothing"; or "another exception: " and its text.
std::string thrown_as(const std::function<void()>& call);

/// As thrown_by() says it.
std::string name_of(Thrown what);

/// Called in a callback: throws at one of its calls, and does nothing at all others. Copies count together.
class Bomb {
  public:
    Bomb(Thrown what, int call) : what_(what), left_(std::make_shared<int>(call)) {}

    void operator()() const;

  private:
    Thrown what_;
    std::shared_ptr<int> left_;
};

/// Each of `places` calls of the bomb throws in turn, each kind: what it threw has to come out of `call`. Then
/// `next` has to find everything as ever. Every rank of `comm` makes this call, and throws at the same place.
///
/// call  makes the call under test, whose callbacks call the bomb.
/// next  the call after it: what it brought, and what settings are. Starts with no message under way.
void everything_throws(
    int places,
    const std::function<void(const Bomb&)>& call,
    const std::function<Comparison()>& next
);

}  // namespace dist::harness
