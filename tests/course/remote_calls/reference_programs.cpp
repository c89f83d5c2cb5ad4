// Remote references: who counts what, after each thing that happens to them.
#include <any>
#include <cstring>
#include <memory>
#include <type_traits>

#include "exercises/09_rpc/remote_reference.hpp"
#include "tests/course/remote_calls/programs.hpp"

namespace dist::remote_calls {
namespace {

template <class T>
Bytes bytes_of_plain(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

template <class T>
T plain_of(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

// The references of a rank, whose control messages are calls. All objects are texts.
class References {
  public:
    explicit References(Rank& rank)
        : rank_(rank),
          context_(rank.number(), rank.clock, [&](int to, const ControlMessage& message) {
              rank.rpc.rpc_async(to, "control", bytes_of_plain(message));
          }) {
        rank.rpc.define("control", [&](int from, std::span<const std::byte> bytes) {
            context_.receive(from, plain_of<ControlMessage>(bytes));
            return Bytes();
        });
        rank.rpc.define("make", [&](int, std::span<const std::byte> bytes) {
            coming_ = plain_of<ForkData>(bytes);
            if (!is_held_) {
                context_.make(coming_, std::string("made"));
            }
            return Bytes();
        });
        rank.rpc.define_async("keep", [&](int, auto bytes, const Rpc::Reply& reply) {
            receive(bytes, reply, [&](const RemoteRef& ref) {
                kept.push_back(ref);
                return Bytes();
            });
        });
        rank.rpc.define_async("value", [&](int, auto bytes, const Rpc::Reply& reply) {
            receive(bytes, reply, [](const RemoteRef& ref) {
                return to_bytes(std::any_cast<std::string>(ref.value()));
            });
        });
        rank.define_text("drop", [&](const std::string&) {
            kept.clear();
            return std::string();
        });
        rank.define_text("create", [&](const std::string& text) {
            kept.push_back(context_.create(text));
            return std::string();
        });
        rank.define_text("keep_for", [&](const std::string& to) {
            give(kept.at(0), "keep", std::stoi(to));
            return std::string();
        });
        rank.define_text("hold", [&](const std::string&) {
            is_held_ = true;
            return std::string();
        });
        rank.define_text("let_go", [&](const std::string&) {
            context_.make(coming_, std::string("made late"));
            return std::string();
        });
        rank.define_text("counts", [&](const std::string&) { return counts(); });
    }

    RemoteRef remote(int owner) {
        const auto [ref, data] = context_.remote(owner);
        rank_.rpc.rpc_async(owner, "make", bytes_of_plain(data));
        return ref;
    }

    RpcFuture begin_to_give(const RemoteRef& ref, const std::string& function, int to) {
        return rank_.rpc.rpc_async(to, function, bytes_of_plain(ref.fork_for(to)));
    }

    std::string give(const RemoteRef& ref, const std::string& function, int to) {
        return to_text(rank_.rpc.wait(begin_to_give(ref, function, to)));
    }

    /// What all ranks count when nothing is under way any more.
    void say_counts(const std::string& when) {
        rank_.serve_for(200ms);
        for (int rank = 0; rank < rank_.rpc.size(); ++rank) {
            say(when + ", rank " + std::to_string(rank), rank_.ask(rank, "counts"));
        }
    }

    std::vector<RemoteRef> kept;

  private:
    [[nodiscard]] std::string counts() const {
        const RefCounts now = context_.counts();
        return std::to_string(now.owned) + " owners, " + std::to_string(now.forks) + " forks, " +
               std::to_string(now.pending) + " pending";
    }

    // A function begins when its reference is confirmed.
    template <class Begin>
    void receive(std::span<const std::byte> bytes, const Rpc::Reply& reply, const Begin& begin) {
        const RemoteRef ref = context_.accept(plain_of<ForkData>(bytes));
        ref.when_confirmed([=](const std::exception_ptr& error) {
            reply(error ? RpcResult{.error = error} : RpcResult{.answer = begin(ref)});
        });
    }

    Rank& rank_;
    RefContext context_;
    bool is_held_ = false;
    ForkData coming_ = {};
};

void reference_of_one(Rank& rank) {
    References references(rank);
    if (rank.is(0)) {
        std::vector<RemoteRef> mine = {references.remote(1)};
        references.say_counts("made");
        say("owner", std::to_string(mine[0].owner()));
        say("its value", references.give(mine[0], "value", 1));
        say("its value elsewhere",
            kind_of_outcome([&] { return std::any_cast<std::string>(mine[0].value()); }));
        mine.push_back(mine[0]);
        references.say_counts("copied here");
        mine.clear();
        references.say_counts("dropped");
    }
    rank.rpc.shutdown();
}

void reference_passed_on(Rank& rank) {
    References references(rank);
    if (rank.is(0)) {
        std::vector<RemoteRef> mine = {references.remote(1)};
        references.give(mine[0], "keep", 2);
        references.say_counts("rank 2 has it");
        mine.clear();
        references.say_counts("rank 0 dropped it");
        rank.ask(2, "keep_for", "0");
        references.say_counts("rank 0 has it again");
        rank.ask(2, "drop");
        references.say_counts("rank 2 dropped it");
        say("its value", references.give(references.kept[0], "value", 1));
        references.kept.clear();
        references.say_counts("all dropped it");
    }
    rank.rpc.shutdown();
}

void reference_shared_by_owner(Rank& rank) {
    References references(rank);
    if (rank.is(0)) {
        rank.ask(1, "create", "local");
        references.say_counts("not shared");
        rank.ask(1, "keep_for", "0");
        rank.ask(1, "keep_for", "2");
        references.say_counts("two ranks have it");
        rank.ask(1, "drop");
        references.say_counts("its maker dropped it");
        say("its value", references.give(references.kept[0], "value", 1));
        references.kept.clear();
        references.say_counts("rank 0 dropped it");
        rank.ask(2, "drop");
        references.say_counts("all dropped it");
    }
    rank.rpc.shutdown();
}

// The same rank gets it twice; the owner gets it; its giver as well.
void reference_comes_twice(Rank& rank) {
    References references(rank);
    if (rank.is(0)) {
        std::vector<RemoteRef> mine = {references.remote(1)};
        references.give(mine[0], "keep", 2);
        references.give(mine[0], "keep", 2);
        references.say_counts("rank 2 has it twice");
        references.give(mine[0], "keep", 1);
        references.say_counts("its owner has it");
        references.give(mine[0], "keep", 0);
        references.say_counts("rank 0 has it twice");
        mine.clear();
        rank.ask(2, "drop");
        references.kept.clear();
        references.say_counts("only its owner has it");
        rank.ask(1, "drop");
        references.say_counts("all dropped it");
    }
    rank.rpc.shutdown();
}

// It goes on before there is an object.
void reference_made_late(Rank& rank) {
    References references(rank);
    if (rank.is(0)) {
        rank.ask(1, "hold");
        std::vector<RemoteRef> mine = {references.remote(1)};
        const RpcFuture keep = references.begin_to_give(mine[0], "keep", 2);
        const RpcFuture value = references.begin_to_give(mine[0], "value", 1);
        rank.serve_for(200ms);
        say("rank 2 has begun before", yes_or_no(rank.rpc.test(keep)));
        say("the value is here before", yes_or_no(rank.rpc.test(value)));
        rank.ask(1, "let_go");
        say("its value", to_text(rank.rpc.wait(value)));
        rank.rpc.wait(keep);
        references.say_counts("made");
        mine.clear();
        rank.ask(2, "drop");
        references.say_counts("all dropped it");
    }
    rank.rpc.shutdown();
}

}  // namespace

Programs reference_programs() {
    return {
        {"reference_of_one", {2, reference_of_one}},
        {"reference_passed_on", {3, reference_passed_on}},
        {"reference_shared_by_owner", {3, reference_shared_by_owner}},
        {"reference_comes_twice", {3, reference_comes_twice}},
        {"reference_made_late", {3, reference_made_late}}};
}

}  // namespace dist::remote_calls
