// How long calls from rank 0 to rank 1 take.
#include <ATen/ops/ones.h>
#include <deque>
#include <malloc.h>

#include "course/nn/tensor_bytes.hpp"
#include "tests/course/remote_calls/programs.hpp"

namespace dist::remote_calls {
namespace {

constexpr int kSmall = 3000;  // calls
constexpr int kLarge = 200;
constexpr std::size_t kAtATime = 8;

// Makes calls, of which a tenth more come first that do not count; prints the microseconds of each.
template <class Call>
void say_time(const std::string& what, int calls, const Call& call) {
    for (int i = 0; i < calls / 10; ++i) {
        call();
    }
    const Stopwatch watch;
    for (int i = 0; i < calls; ++i) {
        call();
    }
    say(what, std::to_string(1e6 * watch.elapsed_s() / calls));
}

void speed(Rank& rank) {
    // memory of large messages stays with the process
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    rank.rpc.define("nothing", [](int, auto) { return Bytes(); });
    rank.define("take", [](const Tensors&) { return Tensors(); });
    rank.define("echo", [](const Tensors& in) { return in; });
    if (rank.is(0)) {
        const Tensors megabyte = {at::ones({1 << 18})};
        say_time("an empty call", kSmall, [&] { rank.rpc.rpc_sync(1, "nothing", {}); });
        say_time("1 MB there", kLarge, [&] { rank.call(1, "take", megabyte); });
        say_time("1 MB there and back", kLarge, [&] { rank.call(1, "echo", megabyte); });
        std::deque<RpcFuture> under_way;
        say_time("1 MB there, 8 at a time", kLarge, [&] {
            under_way.push_back(rank.rpc.rpc_async(1, "take", nn::bytes_of(megabyte)));
            if (under_way.size() == kAtATime) {
                rank.rpc.wait(under_way.front());
                under_way.pop_front();
            }
        });
        for (const RpcFuture& call : under_way) {
            rank.rpc.wait(call);
        }
    }
    rank.rpc.shutdown();
}

}  // namespace

Programs speed_programs() {
    return {{"speed", {2, speed}}};
}

}  // namespace dist::remote_calls
