#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::runtime {

/// The environment of world rank 0; all ranks get the same. docs/runtime.md has names and meanings.
struct Settings {
  std::string plan;      ///< content of the file THALWEG_PLAN; rank 0 alone has it
  std::string plan_path; ///< THALWEG_PLAN
  std::string plan_seal; ///< seal_of() the plan; empty: there is none
  std::string force;     ///< THALWEG_FORCE, with the content of tree files
  std::string trace;     ///< THALWEG_TRACE: folder for events and summary; empty: none
  std::string record;    ///< THALWEG_RECORD: folder for the run record; empty: none
  /// THALWEG_EVENTS: the most bytes of events that each rank keeps; 0: not set
  std::size_t events = 0;
  std::uint64_t run = 0;     ///< a number that only this run has
  std::string summary;       ///< THALWEG_SUMMARY: file for the summary alone; empty: none
  std::string assume_hosts;  ///< THALWEG_ASSUME_HOSTS: names in turn for the ranks, for tests
  int window = 0;            ///< THALWEG_WINDOW; 0: not set
  bool reproducible = false; ///< THALWEG_REPRODUCIBLE: reductions give the same bits everywhere
  bool verbose = false;      ///< THALWEG_VERBOSE: rank 0 says which plans are used
  bool nonblocking = false;  ///< THALWEG_NONBLOCKING: a thread plans nonblocking collectives
  bool one_host = false;     ///< THALWEG_ONE_HOST: calls among ranks of one host are planned, too
  bool race = false;         ///< THALWEG_RACE: plans race against native
  bool adapt = false;        ///< THALWEG_ADAPT: plans change when the network has
  std::string raced;         ///< THALWEG_RACED: races that native won in earlier runs
  bool planned = false;      ///< THALWEG_PLAN, THALWEG_FORCE or THALWEG_REPRODUCIBLE is set
  std::string problem;       ///< why everything must be native; empty: nothing
  std::vector<std::string> remarks; ///< what to say besides; rank 0 alone has them

  /// Returns the folder for events; empty: none are wanted.
  [[nodiscard]] const std::string& events_folder() const {
    return !trace.empty() || events == 0 ? trace : record;
  }
  /// Whether a run record or events are wanted.
  [[nodiscard]] bool observes() const { return !record.empty() || !trace.empty(); }
  /// Never throws: an error in the environment becomes the problem.
  static Settings from_environment();
  /// Lets relative paths of what is written lead from this process's working folder, wherever the
  /// program goes later. Those of a folder that is gone stay as they are.
  void hold_paths();
  [[nodiscard]] std::string to_bytes() const;
  /// Requires bytes from to_bytes().
  static Settings from_bytes(const std::string& bytes);
};

/// Returns the number that a whole text is, whatever the locale; none if it isn't a finite one.
std::optional<double> parse_number(std::string_view text);

/// Whether THALWEG switches the runtime off in this process.
bool is_switched_off();

/// How long a rank waits for the others at set-up, unless told otherwise: launchers may start them
/// at different times.
inline constexpr double usual_patience_s = 30;

/// Returns THALWEG_SETUP_TIMEOUT of this process, in seconds.
/// @throws std::invalid_argument if it is set to anything else
double seconds_of_patience();

/// Returns a file's content.
/// @throws std::invalid_argument saying why it can't be read, without its name
std::string read_file(const std::string& path);

/// Returns the message that rank 0's file THALWEG_PLAN can't be used, and why.
std::string about_plan(const std::string& path, const std::string& why);

} // namespace thalweg::runtime
