// Ranks that make another call than the others: pairs of names, and who has to be named.
#pragma once

#include <string>
#include <vector>

#include "exercises/04_groups_and_rendezvous/split.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

struct Names {
    std::string what;
    std::string first, second;
};

inline std::vector<Names> names() {
    const std::string thousand(1000, 'x');
    return {
        {"of other lengths", "rows", "columns"},
        {"of which one begins with the other", "rows", "row"},
        {"of the same letters", "pair", "pari"},
        {"with the same 31 * a + b", "Aa", "BB"},
        {"with the same 33 * a + b", "Ab", "BA"},
        {"that differ in the highest bit of each byte", "caf\xc3\xa9", "cafC)"},
        {"of which one is empty", "", "all"},
        {"of which 1000 letters are the same, and the last is not", thousand + "1", thousand + "2"},
        {"of which the first letter is not the same", "a" + thousand, "b" + thousand},
        {"that differ behind a zero", std::string("a\0b", 3), std::string("a\0c", 3)},
        {"of which one ends with a zero", "a", std::string("a\0", 2)},
        {"of which one begins with a zero", "a", std::string("\0a", 2)},
        {"that say each word twice", "rowsrows", "colscols"},
        {"of which the first eight letters and the next have changed places", "tensor--pipeline",
         "pipelinetensor--"}};
}

/// Whether the text names the rank, no other one than rank 0 beside it, and `own` where this rank
/// knows it.
inline Comparison tells(
    const std::string& text, int rank, const std::string& own, const Communicator& comm
) {
    for (int r = 1; r < comm.size(); ++r) {
        const bool named = text.find("rank " + std::to_string(r)) != std::string::npos;
        if (named != (r == rank)) {
            return {
                false, "rank " + std::to_string(rank) +
                           " is the first that makes another call than rank 0; got \"" +
                           text.substr(0, 200) + "\""};
        }
    }
    return {
        text.find(own.c_str()) != std::string::npos, "this rank's own name \"" + own.substr(0, 40) +
                                                         "\" is not in \"" + text.substr(0, 200) +
                                                         "\""};
}

/// Rank `other` calls it by the second name, and the ranks after it too.
inline void names_another_call(
    Groups& groups, const Names& names, int other, const Communicator& comm
) {
    const int r = comm.rank();
    const std::string& own = r < other ? names.first : names.second;
    const Answer got = answer(comm, [&] { groups.split(own, 0, 0); });
    INFO(
        "names " << names.what << ": rank 0 gives one, rank " << other
                 << " and those after it another"
    );
    INFO("it must throw dist::Error on every rank, also where the call is right");
    CHECK(got.what == kError);
    if (got.what == kError) {
        const Comparison told = tells(got.text, other, own, comm);
        CHECK(told);
    }
}

}  // namespace dist::harness
