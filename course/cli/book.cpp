// book: the lessons as a site, for a browser.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBookExample =
    "The book has the lessons of notebooks_md/ in order, a page for each exercise\n"
    "(its header, what it stands on, its hints folded), a search, and light and\n"
    "dark colours. It needs no network: copy build/book/ to where you like, or open\n"
    "build/book/index.html.\n"
    "  ./shardlings book                    # builds what has changed\n"
    "  ./shardlings book --serve            # and shows it: open the line it prints\n"
    "  ./shardlings book --serve --port 0   # on a port that is free\n"
    "  ./shardlings book --players          # with messages that move in the place of still "
    "pictures\n"
    "  ./shardlings book --notebooks        # the lessons for Jupyter, whose cells are commands\n"
    "Served, it marks what you have done and what comes next, as `list` does. Only\n"
    "this machine sees it (127.0.0.1). Ctrl-C ends it.\n";

fs::path site(const Context& context) {
    return context.root / "build" / "book";
}

/// The pages that play the messages of each picture, where the book finds them.
/// Errors  CommandError with the first error of the build, or of the runs.
void make_players(Context& context) {
    fmt::print("Building the references whose messages are played (some minutes the first time)\n");
    std::fflush(stdout);
    build_targets(context, {"draw_pictures"});  // here, where its progress shows
    const Ended ended =
        run(context, {(context.root / "scripts" / "draw_pictures").string(), "--html",
                      (context.root / "build" / "book_players" / "players").string()});
    if (!ended.ok()) {
        throw CommandError(
            exit_status::kFailed, "the messages could not be played:\n" + ended.output
        );
    }
}

/// Errors  CommandError with Sphinx's words.
void build_book(const Context& context) {
    install(context, "book");
    const fs::path pages = context.root / "build" / "book_pages";
    fs::create_directories(pages);
    const Ended ended =
        run(context, {"sphinx-build", "-q", "-c", (context.root / "course" / "book").string(), "-d",
                      (pages / ".read").string(), pages.string(), site(context).string()});
    if (!ended.ok()) {
        throw CommandError(
            exit_status::kFailed, "Sphinx could not build the book:\n" + ended.output
        );
    }
    fmt::print("{}The book is in build/book/index.html\n", ended.output);
}

/// Errors  CommandError that says what to install.
void make_notebooks(Context& context) {
    const Ended ended =
        run(context, {"python3", (context.root / "course" / "book" / "notebooks.py").string(),
                      (context.root / "notebooks_md").string(),
                      (context.root / "build" / "notebooks").string()});
    if (!ended.ok()) {
        throw CommandError(exit_status::kUsage, ended.output);
    }
    fmt::print("{}", ended.output);
}

void serve_book(Context& context, int port) {
    std::fflush(stdout);
    const std::string self = fs::read_symlink("/proc/self/exe").string();
    try {
        const Ended ended =
            run(context,
                {"python3", (context.root / "course" / "book" / "serve.py").string(),
                 site(context).string(), std::to_string(port), self, "list", "--json"},
                {.attached = true});
        context.status = ended.ok() ? exit_status::kDone : exit_status::kUsage;
    } catch (const Interrupted&) {  // that is how it ends
        fmt::print("\n");
    }
}

}  // namespace

void add_book(Command& app, Context& context) {
    auto command = app.add_subcommand("book", "Build the lessons as a site, and show it here");
    auto serve = std::make_shared<bool>(false);
    auto port = std::make_shared<int>(8000);
    command.add_flag("--serve", *serve, "Show it to a browser on this machine, with your progress");
    command.add_option("--port", *port, "Where to serve it; 0: a port that is free")
        .between(0, 65535)
        .capture_default_str();
    auto players = std::make_shared<bool>(false);
    command.add_flag(
        "--players", *players,
        "Play messages round by round in the place of still pictures; later builds keep that"
    );
    auto notebooks = std::make_shared<bool>(false);
    command.add_flag(
        "--notebooks", *notebooks,
        "Make Jupyter notebooks of the lessons in build/notebooks/ instead (jupytext, from PyPI)"
    );
    command.footer(kBookExample);
    command.callback([&context, command, serve, port, players, notebooks] {
        if (*notebooks) {
            if (*serve || *players) {
                throw UsageError(
                    "book: --notebooks makes files for Jupyter; --serve and --players are for the "
                    "site"
                );
            }
            make_notebooks(context);
            return;
        }
        if (command.given("--port") && !*serve) {
            throw UsageError("book: --port is for --serve");
        }
        if (*players) {
            install(context, "book");
            make_players(context);
        }
        build_book(context);
        if (*serve) {
            serve_book(context, *port);
        }
    });
}

}  // namespace dist::cli
