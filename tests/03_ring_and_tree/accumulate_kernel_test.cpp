// accumulate_kernel: the same as the host's accumulate, for every length and operation, in its stream.
#include "exercises/03_ring_and_tree/accumulate_kernel.hpp"

#include <algorithm>
#include <stdexcept>

#include "course/gpu/scale.hpp"
#include "tests/harness/gpu/gpu.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// accumulate_kernel of input(n, 1) into input(n, 0), against the host's.
Comparison combined(std::size_t n, ReduceOp op, const Stream& stream) {
    const auto in = input(n, 1);
    const auto before = input(n, 0);
    const DeviceBuffer in_there(in);
    const DeviceBuffer accumulated(before);
    accumulate_kernel(in_there.span(), accumulated.span(), op, stream.handle());
    stream.wait();
    if (const Comparison kept = same(in_there.to_host(), in); !kept) {
        return {false, "in was changed: " + kept.text};
    }
    auto expected = before;
    accumulate(in, expected, op);
    auto halved = expected;
    scale(halved, 0.5F);
    return same(
        accumulated.to_host(), expected, 0,
        {{before, "that is what was there before: no thread has taken this element"},
         {in, "that is the element of in alone: it has to be combined with what is there"},
         {halved, "that was divided: whoever finishes a mean does so, once"}}
    );
}

/// The first comparison that fails, of all lengths.
Comparison combined_for(
    const std::vector<std::size_t>& lengths, ReduceOp op, const Stream& stream
) {
    for (const std::size_t n : lengths) {
        if (const Comparison result = combined(n, op, stream); !result) {
            return {
                false, std::string(name(op)) + ", n = " + std::to_string(n) + ": " + result.text};
        }
    }
    return {};
}

const auto kAllOps = {
    ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max};

}  // namespace

TEST_CASE("accumulate_kernel combines every element, for all lengths up to 1000") {
    const ReduceOp op = GENERATE(values(kAllOps));
    std::vector<std::size_t> lengths;
    for (std::size_t n = 1; n <= 1000; ++n) {
        lengths.push_back(n);
    }
    on_gpu([&](const Stream& stream) {
        const Comparison result = combined_for(lengths, op, stream);
        CHECK(result);
    });
}

TEST_CASE("accumulate_kernel combines every element of long spans") {
    const ReduceOp op = GENERATE(values(kAllOps));
    on_gpu([&](const Stream& stream) {
        const Comparison result = combined_for({65'537, 300'000, 2'000'003}, op, stream);
        CHECK(result);
    });
}

TEST_CASE("accumulate_kernel of no elements is nothing to do, and no error") {
    on_gpu([](const Stream& stream) {
        const Comparison result = combined(0, ReduceOp::sum, stream);
        const std::string error = cudaGetErrorString(cudaGetLastError());
        CHECK(result);
        CHECK(error == "no error");
    });
}

TEST_CASE("accumulate_kernel changes no element beside its span") {
    on_gpu([](const Stream& stream) {
        const std::size_t n = 1000;
        for (const std::size_t begin : {0U, 1U, 100U}) {
            for (const std::size_t length : {1U, 255U, 256U, 257U}) {
                auto expected = input(n, 0);
                const DeviceBuffer in(input(n, 1));
                const DeviceBuffer accumulated(expected);
                accumulate_kernel(
                    in.span().subspan(begin, length), accumulated.span().subspan(begin, length),
                    ReduceOp::sum, stream.handle()
                );
                stream.wait();
                accumulate(
                    std::span<const float>(input(n, 1)).subspan(begin, length),
                    std::span(expected).subspan(begin, length), ReduceOp::sum
                );
                INFO("elements " << begin << " to " << begin + length - 1 << " of " << n);
                CHECK(same(accumulated.to_host(), expected));
            }
        }
    });
}

TEST_CASE("accumulate_kernel takes its turn in the stream") {
    on_gpu([](const Stream& stream) {
        const std::size_t n = 100'000;
        auto expected = input(n, 0);
        const DeviceBuffer in(input(n, 1));
        const DeviceBuffer accumulated(expected);
        scale(accumulated.span(), 2.0F, stream.handle());
        accumulate_kernel(in.span(), accumulated.span(), ReduceOp::sum, stream.handle());
        scale(accumulated.span(), 2.0F, stream.handle());
        stream.wait();
        auto without = expected;
        scale(without, 4.0F);
        auto late = without;
        accumulate(input(n, 1), late, ReduceOp::sum);
        scale(expected, 2.0F);
        accumulate(input(n, 1), expected, ReduceOp::sum);
        scale(expected, 2.0F);
        INFO("doubled, then accumulated, then doubled again, all in one stream");
        CHECK(same(
            accumulated.to_host(), expected, 0,
            {{without, "nothing was accumulated: is the kernel in the stream that was given?"},
             {late, "it was accumulated last: is the kernel in the stream that was given?"}}
        ));
    });
}

TEST_CASE("accumulate_kernel refuses spans of different lengths") {
    on_gpu([](const Stream& stream) {
        const DeviceBuffer in(input(7, 1));
        const DeviceBuffer accumulated(input(8, 0));
        bool refused = false;
        try {
            accumulate_kernel(in.span(), accumulated.span(), ReduceOp::sum, stream.handle());
        } catch (const std::invalid_argument&) {
            refused = true;
        }
        INFO("7 elements into 8: std::invalid_argument, as from the host's accumulate");
        CHECK(refused);
    });
}
