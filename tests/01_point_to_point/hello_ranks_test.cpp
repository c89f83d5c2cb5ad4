// hello_ranks: a line of every rank, in rank order, on rank 0.
#include "exercises/01_point_to_point/hello_ranks.hpp"

#include <cstdio>
#include <sstream>

#include "course/protocol/counted.hpp"
#include "tests/harness/words/patterns.hpp"

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
    std::string without_ends;
    for (int rank = 0; rank < p; ++rank) {
        without_ends += line_of(rank, p);
    }
    if (got == without_ends) {
        return {false, "got " + in_quotes(got) + ": every line ends with '\\n'"};
    }
    std::istringstream lines(got);
    std::string line;
    for (int rank = 0; rank < p; ++rank) {
        if (!std::getline(lines, line)) {
            return {
                false, "got " + counted(rank, "line") + ", expected " + std::to_string(p) +
                           ": rank " + std::to_string(rank) + "'s is missing"};
        }
        if (line != line_of(rank, p) || lines.eof()) {
            return {
                false, "line " + std::to_string(rank) + ": expected " +
                           in_quotes(line_of(rank, p) + "\n") + ", got " + in_quotes(line) +
                           suspicion(line, rank, p)};
        }
    }
    const bool all = lines.peek() == std::istringstream::traits_type::eof();
    return {all, "after the last line comes more: got " + in_quotes(got)};
}

/// A Buffers has no text: it travels as the characters' codes.
Comparison said_hello(const Buffers& b, const Call& /*call*/, const Communicator& comm) {
    const std::string text(b.out.begin(), b.out.end());
    if (comm.rank() == 0) {
        return is_all_lines(text, comm.size());
    }
    return {text.empty(), "got " + in_quotes(text) + ": every rank but 0 returns the empty string"};
}

const Attempt kAttempt{
    .name = "hello_ranks",
    .before = [](const Call&, const Communicator&) { return Buffers{}; },
    .call =
        [](Buffers& b, const Call&, const Communicator& comm) {
            const std::string text = hello_ranks(comm);
            b.out.assign(text.begin(), text.end());
        },
    .outcome = said_hello};

Cost one_line_to_rank_0(const Call& /*call*/, const Communicator& comm) {
    const int p = comm.size();
    if (comm.rank() == 0) {
        return {.messages_sent = exactly(0), .messages_received = exactly(p - 1)};
    }
    const auto line_bytes = static_cast<long>(line_of(comm.rank(), p).size()) + 1;
    return {
        .messages_sent = exactly(1),
        .bytes_sent = {line_bytes, line_bytes + 1},  // the zero that ends a C string may travel
        .messages_received = exactly(0),
        .sent_to = std::set{0}};
}

}  // namespace

TEST_CASE("hello_ranks brings a line of every rank to rank 0, in the order of their ranks") {
    every_call(kAttempt, {Call{}});
}

TEST_CASE("hello_ranks sends one message from each rank, straight to rank 0") {
    costs(
        kAttempt, one_line_to_rank_0,
        "rank 0 receives one message of every other rank, and sends none; nobody else receives"
    );
}

TEST_CASE("hello_ranks can be called twice in a row, also if a rank is late") {
    two_in_a_row(kAttempt, "rank 2 says hello a second time before rank 1 says it once");
}

TEST_CASE("hello_ranks throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("hello_ranks asks the ranks of the communicator that was given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("hello_ranks is right on 11 ranks: rank 10's line is longer than rank 9's", "[many]") {
    on_many_ranks(kAttempt);
}
