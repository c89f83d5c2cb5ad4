#include "course/grade/seeds.hpp"

#include <fmt/format.h>
#include <random>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

std::vector<std::uint64_t> draw_seeds(const GradingOptions& options) {
    std::random_device device;
    // nobody finds it by trying all that there are; and JSON holds it
    const auto drawn = [&] { return 1 + (std::uint64_t{device()} << 20U | device() >> 12U); };
    std::vector<std::uint64_t> seeds(static_cast<std::size_t>(options.seeds));
    for (std::size_t i = 0; i < seeds.size(); ++i) {
        seeds[i] = (options.seed > 0 ? options.seed + static_cast<std::uint64_t>(i) : drawn());
    }
    return seeds;
}

}  // namespace

std::vector<std::uint64_t> seeds_of(const GradingOptions& options, Gradebook& book) {
    const bool go_on = options.resume || options.only_failed;
    if (book.has_grades() && !go_on) {
        throw UsageError(fmt::format(
            "{} holds grades already: --resume goes on with them, --only-failed repeats what "
            "did not pass; or name another folder",
            options.out
        ));
    }
    std::vector<std::uint64_t> seeds = go_on ? book.seeds() : std::vector<std::uint64_t>();
    if (seeds.empty()) {
        seeds = draw_seeds(options);
        book.write_seeds(seeds);
    } else if ((options.seed > 0 && options.seed != seeds.front()) ||
               (options.seeds > 1 && static_cast<std::size_t>(options.seeds) != seeds.size())) {
        throw UsageError(fmt::format(
            "{} was begun with other inputs ({} of them), and goes on with those: leave out "
            "--seed and --seeds, or name another folder",
            options.out, seeds.size()
        ));
    }
    return seeds;
}

}  // namespace dist::cli
