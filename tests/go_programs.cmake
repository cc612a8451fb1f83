# Programs in Go, with the modules that clients/go/go.mod names. deploy/install-go-modules.sh
# downloads these; a build or a test does not. Where they are missing, nothing in Go is built, and
# each test that needs it says that it is skipped.
set(go_client ${PROJECT_SOURCE_DIR}/clients/go)
set(go_environment GO111MODULE=on GOFLAGS= GOPROXY=off GOTOOLCHAIN=local GOWORK=off
  GOCACHE=${CMAKE_BINARY_DIR}/go-cache)
execute_process(WORKING_DIRECTORY ${go_client} OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE go_status
  COMMAND ${CMAKE_COMMAND} -E env ${go_environment} ${DEBIAN_GO} list -deps ./...)
if(go_status EQUAL 0)
  set(go_skipped "")
else()
  set(go_skipped "skipped: the Go modules are not there. deploy/install-go-modules.sh downloads \
them, which needs a network; then configure again")
  message(WARNING "All tests in Go are ${go_skipped}")
endif()

# fairlock_add_go_program(<program> <source> <variable>)
# Builds a file, or a package of the module, when everything is built. The variable is set to the
# path of the program, or to nothing if it is not built.
function(fairlock_add_go_program program source variable)
  if(go_skipped)
    set(${variable} "" PARENT_SCOPE)
    return()
  endif()
  set(output ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program})
  file(GLOB sources CONFIGURE_DEPENDS
    ${go_client}/*.go ${go_client}/go.* ${go_client}/${source}/*.go)
  if(IS_ABSOLUTE ${source})
    list(APPEND sources ${source})
  endif()
  add_custom_command(OUTPUT ${output} WORKING_DIRECTORY ${go_client} DEPENDS ${sources}
    COMMAND ${CMAKE_COMMAND} -E env ${go_environment} ${DEBIAN_GO} build -o ${output} ${source})
  add_custom_target(${program} ALL DEPENDS ${output})
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

# fairlock_add_go_test(<name> [IN <folder>] COMMAND <word>...)
function(fairlock_add_go_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "IN" "COMMAND")
  if(go_skipped)
    set(arg_COMMAND ${CMAKE_COMMAND} -E echo ${go_skipped})
  endif()
  if(NOT arg_IN)
    set(arg_IN ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  add_test(NAME ${name} WORKING_DIRECTORY ${arg_IN} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${hang_seconds}
    SKIP_REGULAR_EXPRESSION "^skipped: |\nskipped: ")
  set_property(TEST ${name} PROPERTY ENVIRONMENT
    "FAIRLOCKD=$<TARGET_FILE:fairlockd>" ${go_environment})
endfunction()
