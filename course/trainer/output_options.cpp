#include "course/trainer/output_options.hpp"

#include "course/trainer/option_checks.hpp"

namespace dist::trainer {

namespace {

/// What is written of a run.
void declare_records(CLI::App& app, Options& options) {
    app.add_option(
           "--log", options.log,
           "Write one JSON line per step and epoch, with the times of its parts"
    )
        ->type_name("FILE");
    app.add_option(
           "--trace", options.trace,
           "Write what each rank did in ten steps, from the third on: a Chrome trace for each "
           "rank, "
           "for Perfetto and HTA"
    )
        ->type_name("DIR");
    app.add_option(
           "--flight-records", options.flight_records,
           "Record each rank's last collectives, and write them in this folder at the end, also "
           "where the run fails or hangs"
    )
        ->type_name("DIR");
    app.add_option(
           "--diagnose", options.diagnose,
           "Do not train: print what the flight records in this folder say of a run that failed"
    )
        ->type_name("DIR");
}

/// What a run goes on from. Returns --checkpoint.
CLI::Option* declare_checkpoint(CLI::App& app, Options& options) {
    auto* const checkpoint =
        app.add_option("--checkpoint", options.checkpoint, "Save after every epoch, in this folder")
            ->type_name("DIR");
    app.add_option("--save-every", options.save_every, "Also save after this many steps")
        ->check(check_from_1)
        ->needs(checkpoint)
        ->type_name("STEPS");
    app.add_flag(
           "--async-save", options.async_save,
           "Copy what is to be saved, and let a thread write it while the training goes on; into "
           "several files, which torch.load does not read"
    )
        ->needs(checkpoint);
    auto* const resume =
        app.add_flag("--resume", options.resume, "Go on from the checkpoint")->needs(checkpoint);
    app.add_flag(
           "--elastic", options.elastic,
           "Go on from the checkpoint if there is one: for runs that are started again and again, "
           "as launch does"
    )
        ->needs(checkpoint)
        ->excludes(resume);
    app.add_option(
           "--stop-after", options.stop_after,
           "Save and end after this step, as if interrupted; with --accumulate, after the next "
           "exchange of gradients"
    )
        ->check(check_from_1)
        ->needs(checkpoint);
    return checkpoint;
}

/// What a GPT says.
void declare_sample(CLI::App& app, CLI::Option* checkpoint, Options& options) {
    auto* const sample =
        app.add_option(
               "--sample", options.sample,
               "For --model gpt: do not train; print TEXT, and how the checkpoint's model goes on"
        )
            ->needs(checkpoint)
            ->type_name("TEXT");
    app.add_option("--sample-bytes", options.sample_bytes, "How far it goes on")
        ->check(check_from_1)
        ->needs(sample)
        ->capture_default_str();
    app.add_option(
           "--temperature", options.temperature,
           "What its scores are divided by before a byte is drawn; 0: the likeliest each time"
    )
        ->check(check_decay)
        ->needs(sample)
        ->capture_default_str();
}

/// Who is waited for, and how long.
void declare_timeout(CLI::App& app, Options& options) {
    app.add_option(
           "--timeout", options.timeout_s,
           "When the others have waited this long for a rank, name it and end the run"
    )
        ->check(check_rate)
        ->type_name("SECONDS")
        ->capture_default_str();
}

}  // namespace

void declare_output(CLI::App& app, Options& options) {
    declare_records(app, options);
    declare_sample(app, declare_checkpoint(app, options), options);
    declare_timeout(app, options);
}

}  // namespace dist::trainer
