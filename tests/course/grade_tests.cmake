# Grading: what is read, what is refused, what is written; and the whole of it, over the corpus of cheats.
add_executable(grade_test EXCLUDE_FROM_ALL cli_vet_test.cpp grade_submissions_test.cpp grade_formats_test.cpp grade_due_test.cpp)
target_link_libraries(grade_test PRIVATE dist_catch2_main dist::cli dist::warnings nlohmann_json::nlohmann_json
  LibArchive::LibArchive tinyxml2::tinyxml2)
compile_together(grade_test)
add_test(NAME grade COMMAND grade_test)
add_test(NAME grade_schemas COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/grade_schemas_test.sh $<TARGET_FILE:grade_test>)
set_tests_properties(grade_schemas PROPERTIES SKIP_RETURN_CODE 77)

add_executable(grade_run_test EXCLUDE_FROM_ALL grade_run_test.cpp)
target_link_libraries(grade_run_test PRIVATE dist_session dist::cli dist::warnings Catch2::Catch2)
target_compile_definitions(grade_run_test PRIVATE
  REPOSITORY="${PROJECT_SOURCE_DIR}" SHARDLINGS_CLI="$<TARGET_FILE:shardlings_cli>")
add_dependencies(grade_run_test shardlings_cli)
add_test(NAME grade_run COMMAND grade_run_test)
set_tests_properties(grade_run PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1500)
set_tests_properties(grade grade_schemas grade_run PROPERTIES LABELS cli)
add_test(NAME gradescope COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/gradescope_test.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(gradescope PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 300)
add_test(NAME grade_strange COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/grade_strange_test.py ${PROJECT_SOURCE_DIR})
set_tests_properties(grade_strange PROPERTIES LABELS cli TIMEOUT 600)
