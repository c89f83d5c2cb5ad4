// What prove goes through for remote_reference: three ranks, whose owner is rank 0.
#include "tests/09_rpc/reference_walk.hpp"
#include "tests/harness/walk/walks.hpp"

std::vector<dist::harness::NamedWalk> dist::harness::walks() {
    std::vector<NamedWalk> all;
    const auto add = [&](const std::string& name, const Plan& before, const Plan& plan,
                         const Budget& budget) {
        all.push_back(walk_of(name, ReferenceGame(3, before, plan, budget)));
    };
    const auto with_faults = [&](const std::string& name, const Plan& before, const Plan& plan) {
        add(name, before, plan, {});
        add(name + "; a message is lost", before, plan, {.lost = 1});
        add(name + "; a message comes twice", before, plan, {.repeated = 1});
    };
    const std::string early = "; a rank sends again what was not lost";
    const Plan made = {remote(1, 0), drops(1)};
    with_faults("an object made by another rank", {}, made);
    add("an object made by another rank" + early, {}, made, {.early = 1});
    const Plan given = {creates(0), forks(0, 1), drops(0), drops(1)};
    with_faults("the owner gives a user a use", {}, given);
    add("the owner gives a user a use" + early, {}, given, {.early = 1});
    const Plan given_back = {remote(1, 0), forks(1, 0), drops(1), drops(0)};
    with_faults("a user gives the owner a use", {}, given_back);
    add("a user gives the owner a use" + early, {}, given_back, {.early = 1});
    with_faults("a user gives itself a use", {remote(1, 0)}, {forks(1, 1), drops(1), drops(1)});
    const Plan given_on = {forks(1, 2), drops(1), drops(2)};
    with_faults("a user gives a user a use", {}, {remote(1, 0), forks(1, 2), drops(1), drops(2)});
    add("a user gives a user a use" + early, {remote(1, 0)}, given_on, {.early = 1});
    add("from who had it made to a user, and from there to the owner", {remote(1, 0)},
        {forks(1, 2), drops(1), forks(2, 0), drops(2), drops(0)}, {});
    add("from the owner to a user, to another one, and back; last ACKs come at once",
        {creates(0), forks(0, 1), drops(0)},
        {forks(1, 2), drops(1), forks(2, 1), drops(2), drops(1)}, {.final_acks_at_once = true});
    return all;
}
