internal import ArgumentParser

/// The flag of the commands that read settings without serving by them.
struct SecretsOption: ParsableArguments {
    @Flag(
        help: """
            Read the settings where their secrets are not, as in a pipeline: no file of ${file:…}, no certificate and no \
            folder is opened, and variables of ${env:…} may be missing. What depends on one of them is left unchecked.
            """)
    var noSecrets = false
}
