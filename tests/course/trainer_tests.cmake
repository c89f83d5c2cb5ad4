# The trainer and what it is made of: data, networks, its parts, and whole runs.

function(add_part_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE dist_catch2_main dist::warnings ${arg_LIBRARIES})
  compile_together(${name})
  add_test(NAME course.${name} COMMAND ${name} "~[mesh]~[refusal]~[resume]~[real]")
  set_tests_properties(course.${name} PROPERTIES LABELS "course;trainer" TIMEOUT 600)
endfunction()

if(LibTorch_FOUND)
  add_part_test(data_test SOURCES data_test.cpp text_test.cpp LIBRARIES dist::data)
  add_test(NAME course.data_real_test COMMAND data_test "[real]")
  set_tests_properties(course.data_real_test PROPERTIES LABELS "course;trainer" SKIP_RETURN_CODE 77)
  target_compile_definitions(data_test PRIVATE SHARDLINGS_SOURCE="${PROJECT_SOURCE_DIR}")

  add_part_test(nn_test
    SOURCES gpt_test.cpp gradient_edge_test.cpp nn_test.cpp rows_test.cpp tensor_bytes_test.cpp tensor_file_test.cpp LIBRARIES dist::nn dist::lines_only dist::optimised_little)

  set(trainer_sources ${PROJECT_SOURCE_DIR}/course/trainer)
  add_part_test(device_pictures_test
    SOURCES device_pictures_test.cpp ${trainer_sources}/batch.cpp ${trainer_sources}/device_pictures.cpp
    LIBRARIES dist::data LibTorch::LibTorch dist::lines_only dist::optimised_little)

  add_part_test(trainer_test SOURCES trainer_test.cpp LIBRARIES dist_trainer_parts nlohmann_json::nlohmann_json)

  add_part_test(trainer_runs_test
    SOURCES bench_ddp_test.cpp bench_mesh_test.cpp bench_pipeline_test.cpp bench_ps_test.cpp bench_zero_test.cpp trainer_experts_test.cpp trainer_faults_test.cpp trainer_mesh_test.cpp trainer_runs_test.cpp trainer_refusals_test.cpp trainer_resume_test.cpp trainer_servers_test.cpp trainer_text_test.cpp
    LIBRARIES dist::cli dist::data dist::plots nlohmann_json::nlohmann_json)
  add_dependencies(trainer_runs_test bench_ddp bench_mesh bench_pipeline bench_ps bench_zero trainer trainer_seen)
  if(SHARDLINGS_GPU)
    add_dependencies(trainer_runs_test trainer_gpu)
    target_compile_definitions(trainer_runs_test PRIVATE TRAINER_GPU="$<TARGET_FILE:trainer_gpu>")
  endif()
  # the trainer, which says at its end what its convolutions were given
  add_executable(trainer_seen EXCLUDE_FROM_ALL
    seen_convolutions.cpp ${trainer_sources}/main.cpp ${trainer_sources}/../parallel/no_nccl_hook.cpp $<TARGET_OBJECTS:dist_patient_calls>)
  target_link_libraries(trainer_seen PRIVATE dist_trainer dist::stack_torch dist::lines_only dist::optimised_little dist::warnings)
  # a model that the trainer's command line cannot ask for
  add_executable(branch_not_taken EXCLUDE_FROM_ALL
    branch_not_taken.cpp ${trainer_sources}/../parallel/no_nccl_hook.cpp)
  target_link_libraries(branch_not_taken PRIVATE dist::parallel dist::stack_torch dist::lines_only dist::optimised_little dist::warnings)
  add_dependencies(trainer_runs_test branch_not_taken)
  # a GPT on many meshes, in one job
  add_executable(mesh_gradients EXCLUDE_FROM_ALL
    mesh_gradients.cpp ${trainer_sources}/../parallel/no_nccl_hook.cpp)
  target_link_libraries(mesh_gradients PRIVATE dist::parallel dist::options dist::stack_torch nlohmann_json::nlohmann_json dist::lines_only dist::optimised_little dist::warnings)
  add_dependencies(trainer_runs_test mesh_gradients)
  add_test(NAME train_tcp COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/train_tcp_test.sh $<TARGET_FILE:shardlings_cli>)
  set_tests_properties(train_tcp PROPERTIES LABELS "course;trainer" TIMEOUT 600)
  add_test(NAME train_tcp_ends COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/train_tcp_ends_test.sh $<TARGET_FILE:shardlings_cli>)
  set_tests_properties(train_tcp_ends PROPERTIES LABELS "course;trainer" TIMEOUT 900)
  add_test(NAME launch COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/launch_test.sh $<TARGET_FILE:shardlings_cli>)
  set_tests_properties(launch PROPERTIES LABELS "course;trainer" TIMEOUT 900)
  add_test(NAME launch_agents COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/launch_agents_test.sh $<TARGET_FILE:shardlings_cli>)
  set_tests_properties(launch_agents PROPERTIES LABELS "course;trainer" TIMEOUT 600)
  # ranks of which one does something else
  add_executable(flight_faults EXCLUDE_FROM_ALL
    flight_faults.cpp ${trainer_sources}/timeout.cpp $<TARGET_OBJECTS:dist_patient_calls_own>)
  target_link_libraries(flight_faults PRIVATE dist_together_own dist::stack_own dist::warnings)
  add_test(NAME flight COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/flight_test.sh $<TARGET_FILE:shardlings_cli> $<TARGET_FILE:flight_faults>)
  set_tests_properties(flight PROPERTIES LABELS "course;trainer" TIMEOUT 900)
  add_test(NAME fault_tolerant COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fault_tolerant_test.sh $<TARGET_FILE:shardlings_cli>)
  set_tests_properties(fault_tolerant PROPERTIES LABELS "course;trainer" TIMEOUT 600)
  foreach(parallel IN ITEMS ddp zero3)
    add_test(NAME launch_nodes_${parallel}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/launch_nodes_test.sh $<TARGET_FILE:shardlings_cli> ${parallel})
    set_tests_properties(launch_nodes_${parallel} PROPERTIES LABELS "course;trainer" SKIP_RETURN_CODE 77 TIMEOUT 600)
  endforeach()
  add_test(NAME two_nodes_train
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/two_nodes_test.sh $<TARGET_FILE:shardlings_cli> train)
  set_tests_properties(two_nodes_train PROPERTIES LABELS "course;trainer" SKIP_RETURN_CODE 77 TIMEOUT 600)
  add_test(NAME servers_die COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/servers_die_test.sh
    $<TARGET_FILE:shardlings_cli> $<TARGET_FILE:start_ranks> $<TARGET_FILE:trainer_own>)
  set_tests_properties(servers_die PROPERTIES LABELS "course;trainer" TIMEOUT 600)
  # files, pipes and terminals; runs that go on
  add_test(NAME train_screen COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/train_screen_test.sh $<TARGET_FILE:shardlings_cli>)
  set_tests_properties(train_screen PROPERTIES LABELS "course;trainer" TIMEOUT 600)
  add_dependencies(trainer_runs_test shardlings_cli flight_faults launch trainer_own)
  # The longest first, the others beside it.
  set_tests_properties(course.trainer_runs_test PROPERTIES COST 100)
  foreach(part mesh refusal resume)
    add_test(NAME course.trainer_${part}_test COMMAND trainer_runs_test "[${part}]")
    set_tests_properties(course.trainer_${part}_test PROPERTIES LABELS "course;trainer" TIMEOUT 600 COST 50)
  endforeach()
  target_compile_definitions(trainer_runs_test PRIVATE
    DATASETS="${PROJECT_SOURCE_DIR}/datasets" BENCH_DDP="$<TARGET_FILE:bench_ddp>" BENCH_MESH="$<TARGET_FILE:bench_mesh>" BENCH_PIPELINE="$<TARGET_FILE:bench_pipeline>" BENCH_PS="$<TARGET_FILE:bench_ps>" BENCH_ZERO="$<TARGET_FILE:bench_zero>" TRAINER="$<TARGET_FILE:trainer>" TRAINER_SEEN="$<TARGET_FILE:trainer_seen>" BRANCH_NOT_TAKEN="$<TARGET_FILE:branch_not_taken>" MESH_GRADIENTS="$<TARGET_FILE:mesh_gradients>")
endif()
