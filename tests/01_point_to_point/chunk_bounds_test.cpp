// chunk_bounds: [0, n) in p chunks, without gap or overlap, of nearly the same length.
#include "exercises/01_point_to_point/chunk_bounds.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace dist {
std::ostream& operator<<(std::ostream& out, const Chunk& chunk) {
    return out << "[" << chunk.begin << ", " << chunk.end << ")";
}
}  // namespace dist

namespace {

std::vector<Chunk> chunks(std::size_t n, int p) {
    std::vector<Chunk> all;
    all.reserve(static_cast<std::size_t>(p));
    for (int i = 0; i < p; ++i) {
        all.push_back(chunk_bounds(n, p, i));
    }
    return all;
}

/// What is wrong with the chunks of n elements, in one sentence; empty when nothing is.
std::string complaint(std::size_t n, int p) {
    const std::vector<Chunk> all = chunks(n, p);
    std::ostringstream text;
    std::size_t shortest = n;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t before = i == 0 ? 0 : all[i - 1].end;
        const std::size_t length = all[i].end < all[i].begin ? 0 : all[i].size();
        shortest = std::min(shortest, length);
        longest = std::max(longest, length);
        if (all[i].end < all[i].begin) {
            text << "chunk " << i << " is " << all[i] << ": it ends before it begins";
        } else if (all[i].begin > before) {
            text << "elements " << before << " to " << all[i].begin - 1
                 << " are in no chunk: chunk " << i << " is " << all[i];
        } else if (all[i].begin < before) {
            text << "element " << all[i].begin << " is in two chunks: chunk " << i << " is "
                 << all[i] << ", and the one before ends at " << before;
        }
        if (!text.str().empty()) {
            return text.str();
        }
    }
    if (all.back().end != n) {
        text << "the last chunk is " << all.back() << ", and does not end at " << n;
    } else if (longest - shortest > 1) {
        text << "the longest chunk has " << longest << " elements, the shortest " << shortest
             << ": lengths differ by one at most";
    }
    return text.str();
}

Comparison are_right(std::size_t n, int p) {
    const std::string wrong = complaint(n, p);
    return {wrong.empty(), wrong};
}

}  // namespace

TEST_CASE("the chunks cover all elements once, in order, and differ by one at most") {
    on_ranks({1}, [](const Communicator&) {
        for (const int p : {3, 1, 2, 4, 5, 8, 64}) {
            for (std::size_t i = 0; i <= 70; ++i) {
                const std::size_t n = (i + 7) % 71;  // a length that says more than 0 comes first
                INFO(n << " elements in " << p << " chunks");
                REQUIRE(are_right(n, p));
            }
        }
    });
}

TEST_CASE("where p divides n, all chunks have n/p elements") {
    on_ranks({1}, [](const Communicator&) {
        CHECK(chunk_bounds(12, 3, 0) == Chunk{0, 4});
        CHECK(chunk_bounds(12, 3, 1) == Chunk{4, 8});
        CHECK(chunk_bounds(12, 3, 2) == Chunk{8, 12});
        CHECK(chunk_bounds(5, 1, 0) == Chunk{0, 5});
    });
}

TEST_CASE("it is right for more elements than an int can count") {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t n : {3'000'000'001UL, (1UL << 60U) + 7, ~0UL}) {
            for (const int p : {3, 5, 8}) {
                INFO(n << " elements in " << p << " chunks");
                REQUIRE(are_right(n, p));
            }
        }
    });
}

TEST_CASE("it refuses a chunk that does not exist, and fewer than one chunk") {
    on_ranks({1}, [](const Communicator&) {
        CHECK_THROWS_AS(chunk_bounds(10, 3, 3), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, 3, -1), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, 0, 0), std::invalid_argument);
        CHECK_THROWS_AS(chunk_bounds(10, -2, 0), std::invalid_argument);
        CHECK_NOTHROW(chunk_bounds(0, 3, 2));
    });
}
