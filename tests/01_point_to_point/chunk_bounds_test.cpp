// chunk_bounds: [0, n) in p chunks, without gap or overlap, of nearly the same length.
#include "exercises/01_point_to_point/chunk_bounds.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/quick.hpp"

using namespace dist;
using namespace dist::harness;

namespace dist {
std::ostream& operator<<(std::ostream& out, const Chunk& chunk) {
    return out << "[" << chunk.begin << ", " << chunk.end << ")";
}
}  // namespace dist

namespace {

/// What is wrong between the chunk before, which ends at `before`, and chunk i; empty: nothing.
std::string complaint(std::size_t before, const Chunk& chunk, int i) {
    std::ostringstream text;
    if (chunk.end < chunk.begin) {
        text << "chunk " << i << " is " << chunk << ": it ends before it begins";
    } else if (chunk.begin > before) {
        text << "elements " << before << " to " << chunk.begin - 1 << " are in no chunk: chunk "
             << i << " is " << chunk;
    } else if (chunk.begin < before) {
        text << "element " << chunk.begin << " is in two chunks: chunk " << i << " is " << chunk
             << ", and the one before ends at " << before;
    }
    return text.str();
}

/// Whether the chunks of n elements are right; if not, the first thing that is wrong.
Comparison are_right(std::size_t n, int p) {
    std::size_t before = 0;
    std::size_t shortest = n;
    std::size_t longest = 0;
    for (int i = 0; i < p; ++i) {
        const Chunk chunk = chunk_bounds(n, p, i);
        if (const std::string wrong = complaint(before, chunk, i); !wrong.empty()) {
            return {false, wrong};
        }
        before = chunk.end;
        shortest = std::min(shortest, chunk.size());
        longest = std::max(longest, chunk.size());
    }
    std::ostringstream text;
    if (before != n) {
        text << "the last chunk ends at " << before << ", and does not end at " << n;
    } else if (longest - shortest > 1) {
        text << "the longest chunk has " << longest << " elements, the shortest " << shortest
             << ": lengths differ by one at most";
    }
    return {text.str().empty(), text.str()};
}

void check(std::size_t n, int p) {
    INFO(counted(n, "element") << " in " << counted(p, "chunk"));
    const Comparison result = are_right(n, p);
    REQUIRE(result);
}

}  // namespace

TEST_CASE("chunk_bounds covers all elements once, in order, in chunks that differ by one at most") {
    on_ranks({1}, [](const Communicator&) {
        for (const int p : {3, 1, 2, 4, 5, 8, 11, 64}) {
            for (std::size_t i = 0; i <= 70; ++i) {
                check((i + 7) % 71, p);  // a length that says more than 0 comes first
            }
        }
    });
}

TEST_CASE("chunk_bounds is right for more elements than an int can count, and for many chunks") {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t n : {3'000'000'001UL, (1UL << 60U) + 7, ~0UL}) {
            for (const int p : {3, 5, 8}) {
                check(n, p);
            }
        }
        check(3'000'000'001UL, 100'000);
    });
}

TEST_CASE("chunk_bounds looks at its arguments alone, in whatever order it is called") {
    on_ranks({1}, [](const Communicator&) {
        CHECK(chunk_bounds(12, 3, 2) == Chunk{8, 12});
        CHECK(chunk_bounds(12, 3, 0) == Chunk{0, 4});
        CHECK(chunk_bounds(5, 1, 0) == Chunk{0, 5});
        CHECK(chunk_bounds(0, 2'000'000'000, 1'999'999'999) == Chunk{0, 0});
        CHECK(chunk_bounds(12, 3, 1) == Chunk{4, 8});
    });
}

TEST_CASE("chunk_bounds takes a few operations, for any number of elements and chunks") {
    on_ranks({1}, [](const Communicator&) {
        const int p = 2'000'000'000;
        const Comparison quick = takes_a_few_operations("the chunks, or the elements", [] {
            const Chunk last = chunk_bounds(~0UL, p, p - 1);
            REQUIRE(last.end == ~0UL);
        });
        CHECK(quick);
    });
}

TEST_CASE("chunk_bounds refuses a chunk that does not exist, and fewer than one chunk") {
    on_ranks({1}, [](const Communicator&) {
        CHECK_THROWS_AS(chunk_bounds(10, 3, 3), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, 3, 4), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, 3, -1), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, 0, 0), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, -2, 0), std::invalid_argument);
        CHECK_NOTHROW(chunk_bounds(0, 3, 2));
    });
}
