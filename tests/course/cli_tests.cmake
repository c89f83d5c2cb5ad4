# The command: how it reads what compilers, processes and people leave it.
add_executable(cli_test EXCLUDE_FROM_ALL
  cli_changed_test.cpp cli_gpu_test.cpp cli_plan_test.cpp cli_screen_test.cpp cli_text_test.cpp cli_problems_test.cpp cli_report_test.cpp cli_verdict_test.cpp cli_process_test.cpp
  cli_progress_test.cpp cli_formula_test.cpp cli_questions_test.cpp cli_train_test.cpp check_verdicts_test.cpp)
target_link_libraries(cli_test PRIVATE dist_catch2_main dist::cli dist::warnings nlohmann_json::nlohmann_json)
compile_together(cli_test)
target_compile_definitions(cli_test PRIVATE REPOSITORY="${PROJECT_SOURCE_DIR}")
add_test(NAME cli COMMAND cli_test)
set_tests_properties(cli PROPERTIES LABELS cli)

# Whatever names a LibTorch is taken.
add_test(NAME find_libtorch COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/find_libtorch_test.sh)
set_tests_properties(find_libtorch PROPERTIES LABELS cli TIMEOUT 300)

# Output that could not be written is an error of one line, not a short document.
add_test(NAME cli_full_disk COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli_full_disk_test.sh $<TARGET_FILE:shardlings_cli>)
set_tests_properties(cli_full_disk PROPERTIES LABELS cli SKIP_RETURN_CODE 77
  ENVIRONMENT SHARDLINGS_ROOT=${PROJECT_SOURCE_DIR})

# The words of the first hour, in either program.
add_test(NAME cli_first_words COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/first_words_test.sh
  $<TARGET_FILE:shardlings_first> $<TARGET_FILE:shardlings_cli>)
set_tests_properties(cli_first_words PROPERTIES LABELS cli ENVIRONMENT SHARDLINGS_ROOT=${PROJECT_SOURCE_DIR})

# Jobs of one user do not meet where MPI keeps its session.
add_test(NAME cli_sessions COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sessions_test.sh $<TARGET_FILE:shardlings_cli>)
set_tests_properties(cli_sessions PROPERTIES LABELS cli TIMEOUT 300)

# ask, as a reader types it.
add_test(NAME cli_ask COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ask_test.sh $<TARGET_FILE:shardlings_cli>)
set_tests_properties(cli_ask PROPERTIES LABELS cli)

# list and watch in real terminals.
add_test(NAME cli_terminal COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/terminal_test.sh $<TARGET_FILE:shardlings_first>)
set_tests_properties(cli_terminal PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
add_dependencies(cli_test shardlings_cli shardlings_first)

# Answers that share a job.
add_executable(shared_job_test EXCLUDE_FROM_ALL shared_job_test.cpp)
target_link_libraries(shared_job_test PRIVATE dist_catch2_main dist::cli dist::warnings)
target_compile_definitions(shared_job_test PRIVATE REPOSITORY="${PROJECT_SOURCE_DIR}")
add_test(NAME shared_job COMMAND shared_job_test)
set_tests_properties(shared_job PROPERTIES LABELS cli TIMEOUT 600)

# check --score, with another tool in the place of universalmutator.
add_executable(score_test EXCLUDE_FROM_ALL score_test.cpp)
target_link_libraries(score_test PRIVATE dist_catch2_main dist::cli dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(score_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(score_test shardlings_cli)
add_test(NAME score COMMAND score_test)
set_tests_properties(score PROPERTIES LABELS cli TIMEOUT 600)

# files of the repository are found from whatever folder the command is called
add_test(NAME cli_elsewhere COMMAND ${PROJECT_SOURCE_DIR}/shardlings check chunk_bounds --mutants --no-stubs WORKING_DIRECTORY /)
set_tests_properties(cli_elsewhere PROPERTIES LABELS cli TIMEOUT 300)

# simulate: its texts everywhere; the command itself where SimGrid is.
add_executable(simulate_test EXCLUDE_FROM_ALL
  cli_simulate_test.cpp cli_simulate_command_test.cpp cli_simulate_train_test.cpp simulated_step_test.cpp)
target_link_libraries(simulate_test PRIVATE dist_catch2_main dist::cli dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(simulate_test PRIVATE REPOSITORY="${PROJECT_SOURCE_DIR}")
if(SimGrid_FOUND)
  target_compile_definitions(simulate_test PRIVATE SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
  add_dependencies(simulate_test shardlings_cli)
endif()
add_test(NAME simulate COMMAND simulate_test)
set_tests_properties(simulate PROPERTIES LABELS cli TIMEOUT 600)

# simulate train --model gpt: formulas, and the command.
add_executable(gpt_layouts_test EXCLUDE_FROM_ALL gpt_layouts_test.cpp gpt_layouts_command_test.cpp)
target_link_libraries(gpt_layouts_test PRIVATE
  dist_catch2_main dist::cli dist::plots dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(gpt_layouts_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(gpt_layouts_test shardlings_cli)
add_test(NAME gpt_layouts COMMAND gpt_layouts_test)
set_tests_properties(gpt_layouts PROPERTIES LABELS cli TIMEOUT 300)

# simulate train --mtbf: failures, formulas, and the command.
add_executable(goodput_test EXCLUDE_FROM_ALL goodput_test.cpp goodput_command_test.cpp)
target_link_libraries(goodput_test PRIVATE
  dist_catch2_main dist::cli dist::plots dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(goodput_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(goodput_test shardlings_cli)
add_test(NAME goodput COMMAND goodput_test)
set_tests_properties(goodput PROPERTIES LABELS cli TIMEOUT 300)

# simulate --paper: published figures beside ours.
add_executable(papers_test EXCLUDE_FROM_ALL papers_test.cpp)
target_link_libraries(papers_test PRIVATE
  dist_catch2_main dist::cli dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(papers_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(papers_test shardlings_cli)
add_test(NAME papers COMMAND papers_test)
set_tests_properties(papers PROPERTIES LABELS cli TIMEOUT 300)

# trace: from logs to pictures; and the command itself.
add_executable(trace_test EXCLUDE_FROM_ALL trace_test.cpp trace_command_test.cpp)
target_link_libraries(trace_test PRIVATE
  dist_catch2_main dist::cli dist::diagrams dist::trace dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(trace_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(trace_test shardlings_cli)
add_test(NAME trace COMMAND trace_test)
set_tests_properties(trace PROPERTIES LABELS cli TIMEOUT 600)

# Pages that play messages and show curves: what they are filled with; and in a browser.
add_executable(player_test EXCLUDE_FROM_ALL player_test.cpp)
target_link_libraries(player_test PRIVATE
  dist_catch2_main dist::cli dist::lab dist::pages dist::trace dist::warnings nlohmann_json::nlohmann_json)
add_test(NAME player COMMAND player_test)
set_tests_properties(player PROPERTIES LABELS cli)
add_dependencies(player_test shardlings_cli)
add_test(NAME pages_browser COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/pages_browser_test.py
  --pages-of $<TARGET_FILE:player_test> --shardlings $<TARGET_FILE:shardlings_cli>)
set_tests_properties(pages_browser PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT SHARDLINGS_ROOT=${PROJECT_SOURCE_DIR})

# the tables that simulate train reads are those of the models
if(LibTorch_FOUND)
  add_executable(simulated_models_test EXCLUDE_FROM_ALL simulated_models_test.cpp)
  target_link_libraries(simulated_models_test PRIVATE
    dist_catch2_main dist::cli dist::nn dist::stack_torch dist::lines_only dist::optimised_little dist::warnings)
  target_compile_definitions(simulated_models_test PRIVATE REPOSITORY="${PROJECT_SOURCE_DIR}")
  add_test(NAME simulated_models COMMAND simulated_models_test)
  set_tests_properties(simulated_models PROPERTIES LABELS cli TIMEOUT 300)
endif()

# Tests of exercises on simulated ranks, every order of their messages, and every order of events.
add_executable(prove_test EXCLUDE_FROM_ALL prove_test.cpp prove_texts_test.cpp prove_walks_test.cpp)
target_link_libraries(prove_test PRIVATE dist_catch2_main dist::cli dist::diagrams dist::warnings nlohmann_json::nlohmann_json)
target_compile_definitions(prove_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(prove_test shardlings_cli)
add_test(NAME prove_texts COMMAND prove_test ~[simulated]~[prove]~[walks])
set_tests_properties(prove_texts PROPERTIES LABELS cli)
add_test(NAME prove_walks COMMAND prove_test [walks])
set_tests_properties(prove_walks PROPERTIES LABELS cli TIMEOUT 600)
# NAME runs the tests of that tag, or says what is missing.
function(add_prove_test name tag program missing)
  if(program)
    add_test(NAME ${name} COMMAND prove_test [${tag}])
  else()
    add_test(NAME ${name} COMMAND sh -c "echo '${missing}'; exit 77")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS cli TIMEOUT 1800 SKIP_RETURN_CODE 77)
endfunction()
add_prove_test(simulated_tests simulated "${SimGrid_SMPIRUN}" "SimGrid is not installed")
add_prove_test(prove prove "${SimGrid_MODEL_CHECKER}" "simgrid-mc, of SimGrid 4, is not installed")

# What is missing is named once.
add_test(NAME setup COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/setup_test.sh)
set_tests_properties(setup PROPERTIES LABELS cli)

# No room includes one that stands above it.
add_test(NAME rooms COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/rooms_test.sh)
set_tests_properties(rooms PROPERTIES LABELS cli)
