// Prints the source of an answer in a list, for targets that are made of one: changed_source ROOT LIST.toml:NAME
#include <cstdio>
#include <exception>
#include <fmt/format.h>

#include "course/build/changed.hpp"
#include "course/process/files.hpp"

int main(int argc, char** argv) {
    using namespace dist::cli;
    try {
        Context context;
        context.root = argc > 1 ? argv[1] : "";
        fmt::print("{}", read_text(make_source(context, argc > 2 ? argv[2] : "")));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
