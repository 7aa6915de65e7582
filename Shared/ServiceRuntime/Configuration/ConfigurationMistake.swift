/// An error that the operator has made and can mend: a process that meets one while assembling exits with code 64.
///
/// Its description is one clear sentence, safe to show.
package protocol ConfigurationMistake: Error, CustomStringConvertible {}

extension SettingError: ConfigurationMistake {}
extension SettingsFileError: ConfigurationMistake {}
