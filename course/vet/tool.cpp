#include "course/vet/tool.hpp"

#include "course/build/failed.hpp"
#include "course/process/error.hpp"

namespace dist::cli {

Ended run_tool(const Context& context, const std::vector<std::string>& command) {
    RunOptions options;
    options.folder = context.build_folder();
    options.environment = {{"LC_ALL", "C"}};
    Ended ended = run(context, command, options);
    refuse_full_disk(context, ended.output);
    return ended;
}

std::string output_of_tool(const Context& context, const std::vector<std::string>& command) {
    const Ended ended = run_tool(context, command);
    if (!ended.ok()) {
        const std::string line = ended.output.substr(0, ended.output.find('\n'));
        throw CommandError(
            exit_status::kOurs, command.front() + " cannot read what was built: " + line
        );
    }
    return ended.output;
}

}  // namespace dist::cli
