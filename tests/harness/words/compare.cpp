// Comparisons that say what a wrong value is likely to be, and who is next to whom.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {

std::set<int> Traffic::partners() const {
    std::set<int> both = sent_to;
    both.insert(received_from.begin(), received_from.end());
    return both;
}

std::set<int> neighbours(const Communicator& comm) {
    const int p = comm.size();
    if (p == 1) {
        return {};
    }
    return {(comm.rank() + 1) % p, (comm.rank() + p - 1) % p};
}

std::ostream& operator<<(std::ostream& out, const Comparison& comparison) {
    return out << (comparison.equal ? "as expected" : comparison.text);
}

Comparison same(
    std::span<const float> got,
    std::span<const float> expected,
    double tolerance,
    const std::vector<Suspicion>& suspicions
) {
    if (got.size() != expected.size()) {
        return {
            false, "expected " + counted(expected.size(), "element") + ", got " +
                       std::to_string(got.size())};
    }
    // written so that NaN differs from everything; nothing is near infinity
    const auto equal = [&](double a, double b) {
        const double near = tolerance * std::max(std::abs(b), 1.0);
        return a == b || (std::isfinite(b) && std::abs(a - b) <= near);
    };
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t i = got.size(); i-- > 0;) {
        if (!equal(got[i], expected[i])) {
            ++wrong;
            first = i;
        }
    }
    if (wrong == 0) {
        return {};
    }
    std::ostringstream text;
    text.precision(9);
    text << "index " << first << ": expected " << expected[first] << ", got ";
    if (std::isnan(got[first])) {
        text << "what was there before (NaN): nothing was written";
    } else {
        text << got[first];
    }
    text << " (" << wrong << " of " << got.size() << (wrong == 1 ? " differs)" : " differ)");
    const Suspicion* best = nullptr;
    std::size_t most = 0;
    for (const Suspicion& suspicion : suspicions) {
        std::size_t i = first;
        while (i < std::min(got.size(), suspicion.values.size()) && !equal(got[i], expected[i]) &&
               equal(got[i], suspicion.values[i])) {
            ++i;
        }
        if (i - first > most) {
            most = i - first;
            best = &suspicion;
        }
    }
    if (best != nullptr) {
        text << ": " << best->sentence;
    }
    return {false, text.str()};
}

}  // namespace dist::harness
