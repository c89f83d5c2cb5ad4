// hello_ranks: a line of every rank, in rank order, on rank 0.
#include "exercises/01_point_to_point/hello_ranks.hpp"

#include <chrono>
#include <cstdio>
#include <sstream>
#include <thread>

#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "hello_ranks is to be built from MPI_Send and MPI_Recv");

std::string line_of(int rank, int p) {
    return "hello from rank " + std::to_string(rank) + " of " + std::to_string(p);
}

/// In quotes, with all that cannot be seen made visible.
std::string in_quotes(const std::string& text) {
    std::string result = "\"";
    for (const char c : text.substr(0, 60)) {
        char code[8];
        std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(c));
        result += c >= ' ' && c <= '~' ? std::string(1, c) : c == '\0' ? "\\0" : code;
    }
    return result + (text.size() > 60 ? "...\"" : "\"");
}

/// What a line of rank r's place that is wrong tells.
std::string suspicion(const std::string& line, int rank, int p) {
    for (int other = 0; other < p; ++other) {
        if (other != rank && line == line_of(other, p)) {
            return ": that is rank " + std::to_string(other) +
                   "'s line. Messages arrive in any order: name the rank that you receive from";
        }
    }
    if (line.find('\0') != std::string::npos || line.size() > line_of(rank, p).size()) {
        return ": there is more in it than was sent. MPI_Get_count says how many characters came";
    }
    return "";
}

/// Whether rank 0 got all lines; if not, which is the first wrong one.
Comparison is_all_lines(const std::string& got, int p) {
    std::string expected;
    std::string without_ends;
    for (int rank = 0; rank < p; ++rank) {
        expected += line_of(rank, p) + "\n";
        without_ends += line_of(rank, p);
    }
    if (got == expected) {
        return {};
    }
    if (got == without_ends) {
        return {false, "got " + in_quotes(got) + ": every line ends with '\\n'"};
    }
    std::istringstream lines(got);
    std::string line;
    for (int rank = 0; rank < p; ++rank) {
        if (!std::getline(lines, line)) {
            return {
                false, "got " + std::to_string(rank) + " lines, expected " + std::to_string(p) +
                           ": rank " + std::to_string(rank) + "'s is missing"};
        }
        if (line != line_of(rank, p)) {
            return {
                false, "line " + std::to_string(rank) + ": expected " +
                           in_quotes(line_of(rank, p)) + ", got " + in_quotes(line) +
                           suspicion(line, rank, p)};
        }
    }
    return {false, "after the last line comes more: got " + in_quotes(got)};
}

void check_text(const std::string& text, const Communicator& comm) {
    if (comm.rank() == 0) {
        CHECK(is_all_lines(text, comm.size()));
    } else {
        INFO("every rank but 0 returns the empty string");
        CHECK(text.empty());
    }
}

void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

TEST_CASE("rank 0 returns a line of every rank, in the order of their ranks") {
    on_ranks({3, 1, 2, 4, 5, 11}, [](const Communicator& comm) {  // eleven: rank 10 has two digits
        INFO(
            comm.size() << " ranks"
                        << (comm.size() > 10 ? ": rank 10's line is longer than rank 9's" : "")
        );
        std::string text;
        record(comm, [&] { text = hello_ranks(comm); });
        check_text(text, comm);
    });
}

TEST_CASE("every line stands in its place, also if low ranks are late") {
    on_ranks({3, 5, 11}, [](const Communicator& comm) {
        const int p = comm.size();
        const auto jitter = seeded_bits(seed(), static_cast<std::uint64_t>(comm.rank())) % 2;
        INFO(p << " ranks; rank " << p - 1 << " sends first, rank 1 last");
        std::string text;
        record(comm, [&] {
            sleep_ms(comm.rank() == 0 ? 0 : 2 * (p - comm.rank()) + static_cast<int>(jitter));
            text = hello_ranks(comm);
        });
        check_text(text, comm);
    });
}

TEST_CASE("every other rank sends one message, straight to rank 0") {
    on_ranks({3, 1, 2, 4, 5, 11}, [](const Communicator& comm) {
        const int p = comm.size();
        const Traffic traffic = record(comm, [&] { hello_ranks(comm); });
        const auto line_bytes = static_cast<long>(line_of(comm.rank(), p).size()) + 1;
        if (comm.rank() == 0) {
            INFO("rank 0 of " << p << " receives one message of every other rank, and sends none");
            CHECK(traffic.messages_received == p - 1);
            CHECK(traffic.messages_sent == 0);
        } else {
            INFO("rank " << comm.rank() << " of " << p << " sends its line to rank 0, no more");
            CHECK(traffic.messages_sent == 1);
            CHECK(traffic.sent_to == std::set{0});
            CHECK(traffic.bytes_sent >= line_bytes);
            INFO("nobody but rank 0 receives");
            CHECK(traffic.messages_received == 0);
        }
    });
}

TEST_CASE("two calls in a row do not mix, also if rank 1 is late") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        if (comm.rank() == 1) {
            sleep_ms(10);
        }
        INFO("rank 2 says hello a second time before rank 1 says it once");
        const std::string first = hello_ranks(comm);
        const std::string second = hello_ranks(comm);
        check_text(first, comm);
        check_text(second, comm);
    });
}

TEST_CASE("the ranks are those of the communicator that was given") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            check_text(hello_ranks(*group), *group);
        }
    });
}
