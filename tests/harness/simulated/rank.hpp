// One rank of a test on SimGrid's MPI: what it was asked to run, and where it stands.
#pragma once

#include <string>

#include <mpi.h>

#include "course/protocol/protocol.hpp"
#include "course/simulate/ranks/test_order.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness::simulated {

const simulation::TestOrder& order();
/// Call once, before anything else of this file.
void set_order(const simulation::TestOrder& order);

/// One trial alone, by the model checker: nothing is written, and no message is the harness's own. Another process may
/// take the same way again for each order of messages.
bool exploring();

/// Calls of the code under test and of its test since begin_calls().
void begin_calls();
void note_call(const std::string& text);
long calls();
/// Why the model checker cannot go through what this rank did since; empty: it can.
std::string& unsuited();
std::size_t hash_of_calls();

/// Says it once, to whoever explores.
void say(const char* mark);

/// Ends the test: SimGrid cannot run it.
[[noreturn]] void refuse(const std::string& why);

/// Refuses a call by a thread that the rank has started.
void expect_own_thread(const char* call);

/// Appends a line to a file of the folder, if there is one.
void append(const char* file, const std::string& line);

/// While it lives, exceptions of other ranks are not this one's: all are one thread, by which C++ keeps those in flight.
class OwnExceptions {
  public:
    OwnExceptions();
    ~OwnExceptions();
    OwnExceptions(const OwnExceptions&) = delete;
    OwnExceptions& operator=(const OwnExceptions&) = delete;

  private:
    // what they are to the C++ ABI: a pointer to those that are caught, and how many are not
    std::array<unsigned char, sizeof(void*) + sizeof(unsigned)> kept_{};
};

/// SimGrid ends ranks that can never go on by an exception, which code under test may catch. The first that leaves the scope of
/// one of these by an exception ends all ranks, and what they have written stays as it is.
class EndOfAll {
  public:
    EndOfAll() = default;
    ~EndOfAll();
    [[nodiscard]] bool is_near() const;
    EndOfAll(const EndOfAll&) = delete;
    EndOfAll& operator=(const EndOfAll&) = delete;

  private:
    int exceptions_ = std::uncaught_exceptions();
};

/// While it lives, this rank waits in that call, for whoever looks at the board when no rank is left that could move.
class Waiting {
  public:
    explicit Waiting(const RequestText& text);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    OwnExceptions own_;
    EndOfAll end_;
};

/// Whether all messages of this rank fail.
bool& messages_fail();

}  // namespace dist::harness::simulated
