# Hosted screens. One message a sentence; a value in braces is chosen by people, clients or operators.

next = Next
next-client = Back to { $app }
next-account = Your account
next-code = A code comes by e-mail
next-way-in = You choose how to sign in
next-stop = Nothing of the account changes
next-report = You choose a new way in
next-device = You see what the device asks for
next-device-back = Go back to your device
language = Language
theme = Colours
theme-device = Same as the device
theme-light = Light
theme-dark = Dark
date = { $day } { $month ->
    [1] January
    [2] February
    [3] March
    [4] April
    [5] May
    [6] June
    [7] July
    [8] August
    [9] September
    [10] October
    [11] November
   *[12] December
} { $year }
skip = Skip to the content
continue = Continue
or = or
start-again = Start again
show = Show
hide = Hide
email = E-mail
password = Password

## Signing in

sign-in = Sign in
sign-in-passkey = Sign in with a passkey
sign-in-with = Sign in with { $name }
sign-on-only = Your organization signs you in with its own provider.
to-continue = to continue to { $app }
to-approve = so that your approval for { $app } counts
to-join = to join { $organization }
new-here = New here?
create-account = Create an account
welcome-back = Welcome back, { $name }
not-you = Not you?
choose-account-title = Choose an account
choose-account-current = In use
choose-account-other = Use another account
switch-account = Switch account
password-title = Enter your password
forgot-password = Forgot your password?
other-ways = Other ways
way-passkey = Use a passkey
way-password = Use your password
way-totp = Use your authenticator app
way-email-code = E-mail me a code instead
way-magic-link = E-mail me a link instead
way-sms-code = Text me a code
way-recovery-code = Use a recovery code
second-factor-title = One more step
proof-title = Confirm your e-mail
prove-title = Confirm that it is you
email-code-title = Check your e-mail
email-code-text = If there is an account for { $email }, a code of six digits is on its way.
email-code-text-anonymous = A code of six digits is on its way.
sms-code-title = Check your phone
sms-code-text = If there is a phone for this account, a code of six digits is on its way.
totp-title = Enter the code from your app
totp-text = Your authenticator app shows a code of six digits.
recovery-code-title = Enter a recovery code
recovery-code-text = Each of the codes that you kept works once.
recovery-code-label = Recovery code
code-label = Six-digit code
send-again = Send it again
send-code = Send me a code
link-sent-title = Check your e-mail
link-sent-text = If there is an account for { $email }, a link is on its way.
link-sent-text-anonymous = A link is on its way.
link-sent-browser = Open the link in this browser.
link-title = One click to go
link-text = The link is good. Continue to use it.
upgrade-title = Sign in faster next time
upgrade-text = Make a passkey, and your face, your finger or the lock of your device takes the place of the password.
upgraded-title = Your passkey is ready
upgraded-text = Use it the next time you sign in.

## Making an account

given-name = First name
family-name = Last name
have-account = You have an account?
join-title = Join { $organization }
invited-as = You were invited as { $email }.
another-address = Use another address
sent-to-new = A message to { $email } is on its way.
new-passkey-title = Make a passkey
new-passkey-text = Sign in with your face, your finger or the lock of your device. There is nothing to remember.
make-passkey = Make a passkey
make-passkey-instead = Make a passkey instead
passkey-needs-script = Passkeys need JavaScript, which is off in this browser. Choose another way.
passkey-needs-browser = This browser has no passkeys. Choose another way.
choose-password = Choose a password instead
new-password-title = Choose a password
new-password-text = A few words that you do not use anywhere else.
new-password = New password
password-hint = { $number ->
    [one] At least one character.
   *[other] At least { $number } characters. Spaces count.
}
save-continue = Save and continue
not-now-button = Not now
verify-text = A code of six digits is sent to { $email } when you ask for it.
work-needs-script = Making an account needs JavaScript here: your browser solves a small task, which keeps programs away. Turn it on for this page and load it again.

## Recovery

reset-title = Recover your account
reset-text = Write your e-mail. If there is an account, a code is sent to it.
recovery-ends-sessions = When you save it, you are signed out everywhere else.
recovery-by-mail = Your password changes, and nothing else: passkeys and authenticator app stay. You are signed out everywhere.
save-password = Save the password
recovered-title = Your account is yours again
recovered-text = You were signed out everywhere. Sign in with what you have just chosen.
stop-title = Stop the recovery of your account?
stop-text = A person is about to choose a new way into your account. If it is not you, stop it.
stop-button = Stop it
stop-own = If it is you, close this page: nothing happens.
stop-late = This recovery is over: it was finished, stopped, or took too long. If it was not you, recover the account yourself.
stop-busy = There were too many requests. Wait a minute, then try again.
stopped-title = The recovery was stopped
stopped-text = Nothing was changed. A person who reads your mail may try again: look after your mailbox too.

## Authenticator app and recovery codes

enrol-totp-title = Add an authenticator app
enrol-totp-text = Scan the picture with the app, then enter the code that it shows.
qr-label = Picture for the authenticator app
totp-key = Or type this key into the app
turn-on = Turn it on
show-qr = Show the picture
codes-title = Keep these recovery codes
codes-text = Each works once, when you cannot use your passkey or your app. Keep them where only you find them.
codes-once = Shown once
codes-why = We keep no copy that can be read
codes-kept = I have kept them
copy = Copy
copied = Copied
print = Print

## Organization and consent

organization-title = Which organization is this for?
organization-none = You belong to no organization that can be used now. Ask the administrators of yours.
suspended = Suspended
consent-short = Allow access
consent-title = Let { $app } use your account?
badge-verified = Verified
badge-self-registered = Registered itself
another-person = Sign in as another person
self-registered = This application registered itself
self-registered-text = Your administrators have not checked it. Allow it only if you started this yourself.
leads-to = Leads to
you = You
speaks-for = Speaks for
consent-actions = In { $api }, it could
consent-actions-none = It could
consent-personal = About you, it could
consent-claim = Know your { $claim ->
    [name] full name
    [given_name] first name
    [family_name] last name
    [middle_name] middle name
    [nickname] nickname
    [preferred_username] username
    [profile] profile page
    [picture] picture
    [website] website
    [email] e-mail address
    [email_verified] e-mail address, and whether it is confirmed
    [gender] gender
    [birthdate] date of birth
    [zoneinfo] time zone
    [locale] language
    [phone_number] phone number
    [phone_number_verified] phone number, and whether it is confirmed
    [address] postal address
    [updated_at] profile’s last change
   *[other] { $claim }
}
consent-grants = It can hand out roles and keys in your name
consent-grants-text = What it gives to others can include whatever you may do at other APIs, and stays when you end this.
consent-end = It never sees your password. You can end this at any time in your account.
scope-profile = Know your name and profile
scope-email = Know your e-mail address
scope-phone = Know your phone number
scope-groups = Know your roles in the organization
scope-address = Know your postal address
scope-offline-access = Go on while you are away
action-read = See { $what }
action-write = Create and change { $what }
action-other = Use { $what }
allow = Allow
deny = Deny
its-policy = Its privacy policy
its-terms = Its terms

## Devices

device-sign-in = to connect a device
device-code-title = Connect a device
device-code-text = Enter the code that the device shows.
device-code-check = Is this the code that the device shows? Compare it before you go on.
device-code-label = Code
device-title = Connect this device?
device-connect = Connect { $app }?
device-compare = Your device must show this code
device-warning = Say yes only if the device is in front of you
device-warning-text = If a message or a call sent you here, it is not yours: say no.
device-network = Asked from
device-agent = Device says
device-no = No
device-yes = Yes, connect it
device-done-title = Your device is connected
device-done-text = Go back to it. You can close this page.
device-denied-title = The device was not connected
device-denied-text = Nothing was changed. You can close this page.
approve-title = Approve this request?
approve-asks = { $app } asks for your approval
approve-message = The application must show this message as well
approve-warning = Approve only what you expect
approve-warning-text = If you did not start this, deny it. You can also keep this application from asking again.
approve-until = Waits until
approve-until-time = { $time } UTC
approve-lasts = Access ends
approve-lasts-session = At the latest when you sign out
approve-lasts-days = { $number ->
    [one] When you end it in your account, or after one day
   *[other] When you end it in your account, or after { $number } days
}
approve-no = Deny
approve-block = Deny and block the application
approve-yes = Approve
approve-next = Nothing is allowed before you decide
approve-proved-next = The request is approved as soon as you have confirmed
approve-done-title = The request is approved
approve-done-text = The application hears of it. You can close this page.
approve-denied-title = The request was not approved
approve-denied-text = Nothing was allowed. You can close this page.
factor-missing-title = This needs a second factor
factor-missing-text = Your account has only one way in, and this needs two. Add a passkey or an authenticator app first. Nothing was changed.
approve-factor-title = This needs a second factor
approve-factor-text = What is asked for cannot be taken back, and your account has only one way in. Add a passkey or an authenticator app, then open the request again. Nothing was allowed.
to-security = Add a second factor
approve-void-title = No request waits for you
approve-void-text = It may have been decided before, or its time is over.

## The account of a person

account-title = Your account
sections = Sections of your account
profile = Profile
name = Name
full-name = Full name
full-name-hint = As it is shown. Without it, first and last name are.
nickname = Nickname
no-language = Not said
time-zone = Time zone
time-zone-hint = Such as Europe/Lisbon.
birthdate = Date of birth
birthdate-hint = Year, month, day: 1990-02-28.
website = Website
addresses = E-mail and phone
phone-number = Phone number
phone-hint = With the code of the country and no spaces: +351910000000.
no-phone = No phone number
confirmed = Confirmed
not-confirmed = Not confirmed
confirm-now = Confirm now
waits-for-code = Waits for its code
enter-code = Enter the code
new-email = Use another e-mail address
new-email-text = A code is sent to the new address. Until you enter it here, { $name } stays in use, and is told.
confirm-email = Confirm the new address
new-phone = Use another phone number
new-phone-text = A code is sent to it.
confirm-phone = Confirm the phone number
confirm-text = Enter the code that was sent to { $name }.
remove-phone = Remove the phone number?
remove-phone-text = No code is sent to { $name } any more.
add = Add
remove = Remove
rename = Rename
ways-in = Ways in
add-passkey = Add a passkey
rename-passkey = Name the passkey
rename-passkey-text = It is called { $name } now.
identities = Sign-ins at other providers
linked-on = linked on { $date }
link-hint = Sign in there once, and come by it from then on.
link = Link
link-not = Do not link
unlink = Unlink
identity-already-linked = This sign-in is linked to an account already.
begin-again = Something has changed meanwhile. Begin again.
link-begin = Link a sign-in
link-begin-text = Sign in at the other provider once. Then you are asked whether to link it.
unlink-title = Unlink it?
unlink-text = You cannot come by { $name } any more. What you have opened with it alone ends.
linking-title = Link this sign-in?
linking-text = From now on a sign-in at { $connection } is a way to what it is for.
remove-passkey = Remove the passkey?
remove-passkey-text = You cannot sign in with { $name } any more.
add-totp = Add an authenticator app
replace-totp = Replace the authenticator app
remove-totp = Remove the authenticator app?
remove-totp-text = Its codes do not work here any more, and the password alone is enough where no more is asked for.
totp-app = Authenticator app
totp-app-text = Its code is asked for after the password.
recovery-codes = Recovery codes
new-codes = Make new recovery codes?
new-codes-text = Those that you have kept stop working.
make-codes = Make new ones
codes-left = { $number ->
    [one] One is left
   *[other] { $number } are left
}
no-password = None is set
set-password-text = The other sessions end, unless you keep them.
keep-sessions = Keep the other sessions
remove-password = Remove the password?
remove-password-text = You sign in by your other ways then.
mailed-code = Code by e-mail
mailed-code-text = Sent to your address when you sign in with it.
added-on = Added on { $date }
last-used-on = last used on { $date }
back-to-account = Back to your account
nav-sessions = Sessions
manage-organization = Manage organization
my-sessions = Where you are signed in
this-session = This session
seen-at = seen { $at }
signed-in-at = Signed in { $at }
at-time = { $date }, { $time } UTC
device-on = { $browser } on { $system }
device-unknown = Unknown device
end-session = End
end-sessions = Sign out everywhere?
end-sessions-text = All sessions end, this one too, and every application has to ask you again.
end-sessions-button = Sign out everywhere
my-applications = Connected applications
no-applications = Applications that you sign in to are listed here.
my-approvals = What waits for your decision
decide = Look at it
my-blocked = Applications that may not ask you
let-ask = Let it ask again
disconnect = Disconnect
tree-title = What applications hold now
tree-text = Each line ends with the one that it stands below. To end one also ends everything below it.
tree-session = A session
tree-key = An API key
tree-client = An application in its own name
tree-grant = Held by the application
tree-delegation = Passed on to the application
tree-act = Acts:
tree-until = Until
tree-end = End
my-organizations = Organizations
no-organizations = Organizations that you belong to are listed here.
suspended-member = It confers nothing until it is enabled again, and cannot be left until then.
open = Open
leave = Leave
leave-title = Leave the organization?
leave-text = You lose what you may do in { $name }. To come back you need an invitation.
my-history = History
older = Older entries
history-event = { $event ->
    [account-created] The account was made
    [account-changed] The profile was changed
    [account-email_proposed] Another e-mail address was asked for
    [account-email_changed] The e-mail address was changed
    [account-email_verified] The e-mail address was confirmed
    [account-phone_proposed] Another phone number was asked for
    [account-phone_changed] The phone number was changed
    [account-phone_removed] The phone number was removed
    [account-proof_failed] A wrong code was entered for a new address
    [account-suspended] The account was suspended
    [account-enabled] The account was enabled again
    [account-sessions_ended] All sessions were ended
    [account-deletion_requested] The deletion of the account was asked for
    [account-deletion_cancelled] The deletion of the account was taken back
    [account-recovery_issued] A link to recover the account was made
    [account-recovered] The account was recovered
    [account-administration_granted] Administration of organizations was granted
    [account-administration_revoked] Administration of organizations was taken away
    [recovery-started] A recovery was begun
    [recovery-stopped] A recovery was stopped
    [sign_in-succeeded] Signed in
    [sign_in-failed] A sign-in failed
    [sign_in-superseded] A sign-in that waited was refused: what it was proved by has changed
    [sign_in-new_device] Signed in from a new device
    [sign_in-impossible_travel] Signed in from a place that is too far from the one before
    [account-reported] A sign-in or change was reported: “this wasn't me”
    [account-report_denied] An alert was confirmed: “this was me”
    [credential-proved] A sign-in was begun
    [session-renewed] Confirmed once more
    [session-ended] A session ended
    [enrolment-failed] A new way in did not work
    [authorization-granted] An application was let in
    [token_family-revoked] An application gave back its access
    [token_family-ended] The access of an application ended
    [refresh_token-reused] A spent token of an application came again, and its access ended
    [authorization_code-replayed] A spent code of an application came again, and its access ended
    [consent-given] An application was allowed
    [consent-withdrawn] An application was disconnected
    [approval-asked] An application asked for an approval
    [approval-given] A request of an application was approved
    [approval-denied] A request of an application was denied
    [approval-client_blocked] An application was blocked from asking
    [approval-client_unblocked] An application may ask again
    [device-approved] A device was connected
    [device-denied] A device was refused
    [device-user_code_wrong] A wrong code of a device was entered
    [credential-password_set] A password was set
    [credential-password_removed] The password was removed
    [credential-passkey_added] A passkey was added
    [credential-passkey_renamed] A passkey was renamed
    [credential-passkey_removed] A passkey was removed
    [credential-passkey_counter_regressed] A passkey may have been copied
    [credential-totp_enrolled] An authenticator app was added
    [credential-totp_removed] The authenticator app was removed
    [credential-recovery_codes_set] New recovery codes were made
    [credential-recovery_code_used] A recovery code was used
    [identity-linked] A sign-in at another provider was linked
    [identity-unlinked] A sign-in at another provider was unlinked
    [membership-created] Joined an organization
    [membership-changed] Roles in an organization changed
    [membership-ended] A membership ended
    [membership-resumed] A membership was resumed
    [invitation-accepted] An invitation was accepted
    [apikey-created] An API key was made
    [apikey-rotated] An API key was replaced
    [apikey-revoked] An API key was revoked
    [token-exchanged] An application passed its access on
    [impersonation-began] An administrator acted in your name
    [throttle-unlocked] Failed tries were cleared
   *[other] { $name }
}
history-by = { $who ->
    [operator] (by the operator)
    [node] (by the server)
    [api_key] (by a program)
   *[other] (by an administrator)
}
my-data = Your data
export-title = Download your data
export-text = Everything that is held of you, as one document, and none of your secrets.
export-button = Download
deletion-title = Delete the account
deletion-text = You are signed out everywhere at once. The account is erased after a while, and signing in before that keeps it.
delete-account = Delete the account
delete-title = Delete your account?
delete-text = You are signed out everywhere now. After { $name } days the account is erased, and nothing of it comes back. Sign in before that to keep it.
delete-button = Delete my account
deleted-title = Your account is about to be deleted
deleted-text = It is erased on { $date }. Sign in before that day to keep it.
wrong-field = That was not taken. Check it and try again.
wrong-proof = That code did not match, or is too old. Check the newest message, or ask for another code.
last-way-in = No way to sign in would be left. Add another one first.
last-administrator = No other member can manage the members. Let another one do so first.
leave-suspended = The organization is suspended, and cannot be left until it is enabled again.
codes-need-factor = Recovery codes stand in for a passkey or an authenticator app. Add one first.
address-taken = Another account uses this address by now. Choose another one.
no-channel = No code can be sent there from here.
outcome-unknown = It is not known whether this was done. Look before you repeat it.
wait-minutes = { $number ->
    [one] Too many tries. Wait a minute.
   *[other] Too many tries. Wait { $number } minutes.
}

## An organization, for those who look after it

org-title = Organization
org-choose = Your organizations
org-suspended-text = Nothing can be seen or changed in it until it is enabled again. Ask the people who run { $host }.
org-nothing = You hold no permission to look after this organization. Ask its administrators.
org-sections = Sections of the organization
org-members = Members
org-invitations = Invitations
org-roles = Roles
org-keys = API keys
org-clients = Applications
org-domains = Domains
org-trail = Trail
org-scim = Directory
org-scim-text = A directory such as Entra ID or Okta makes and ends members here by SCIM, and fills roles as groups.
org-scim-address = Address to paste into the directory
org-scim-keys = Keys of directories
org-scim-make-key = Make a key for a directory
org-scim-key-hint = A directory hands out every role, so only a person who holds everything that the roles confer can make its key.
org-scim-activity = What directories did last
org-scim-quiet = Nothing in the trail.
org-other = Other organizations
org-done = Done.
org-prove-text = To change something here, confirm first that it is you.
org-weak-text = This organization asks for more than you have proved. Confirm that it is you; without a passkey or an authenticator app, add one to your account first.
org-prove = Confirm that it is you
org-empty = There is nothing here.
org-find = Find
org-change = Change
org-all = Back to the whole list
org-next-page = Next page
org-ended = Ended
org-held-roles = Roles
org-roles-hint = Names of roles, with spaces between them.
org-save = Save
org-end = End the membership
org-begin = Begin the membership again
org-until = Good until { $date }
org-withdraw = Withdraw
org-invite-title = Invite a person
org-invite = Send the invitation
org-new-role = New role
org-role-hint = Lower-case letters, digits, hyphens and underscores.
org-permissions = Permissions
org-permissions-hint = One on each line, such as invoices:read or invoices:*. Only what you hold yourself can be given.
org-remove-role = Remove the role
org-revoked = Revoked
org-overlap = The former key works
org-overlap-none = no more
org-overlap-hour = for an hour
org-overlap-day = for a day
org-rotate = Replace
org-revoke = Revoke
org-new-key = New API key
org-key-end = Good until (optional)
org-make-key = Make the key
org-key-title = Keep this key
org-key-text = It is shown this once. A program that has it can do what the key may.
org-key-kept = I have kept it
org-of-operator = From the operator
org-client-id = Client id
org-client-open = What it holds
org-purpose = Purpose
org-owner = Answers for it
org-leash-end = The application ends
org-per-day = A day at most
org-activity = What it did
org-nothing-held = It holds nothing for others here.
org-domains-text = A domain that is proved by a record in DNS is this organization's alone. It counts for addresses exactly at it.
org-domain-pending = Not proved yet
org-domain-verified = Proved
org-domain-lost = Lost
org-proved-on = proved on { $date }
org-missing-since = its record is missing since { $date }
org-lost-on = lost on { $date }
org-record = Publish this record in DNS, and leave it there
org-record-name = Name
org-record-type = Type
org-record-value = Value
org-check-now = Check now
org-remove = Remove
org-new-domain = New domain
org-domain-name = Domain
org-domain-hint = Such as example.com. Mail addresses below it, as in mail.example.com, need a domain of their own.
org-add-domain = Add the domain
org-record-missing = The record is not there, or not yet: DNS may take some minutes. Compare name and value, then check again.
org-dns-unanswered = DNS does not say whether the record is there. Try again later.
org-domain-held = Another organization has proved this domain.
org-many-domains = There are a hundred domains. Remove one first.
org-connections = Single sign-on
org-connections-text = Members sign in with a provider of your own, such as Entra ID, Okta or Google Workspace. It counts for this organization alone. New people appear by themselves only under a domain that is proved here.
org-new-connection = New provider
org-connection-name-hint = People choose the provider by this name.
org-issuer = Issuer
org-issuer-hint = The address under which the provider publishes its metadata, such as https://login.example.com. It never changes.
org-client-secret = Client secret
org-secret-hint = It is sealed and never shown again. Leave it empty where the provider takes signed requests: our client then proves itself by its keys.
org-secret-kept = Leave it empty to keep what is there.
org-by-keys = Remove the secret; our client proves itself by its keys
org-company = Company
org-company-hint = Only for providers that serve many companies: the domain of a Google Workspace, or the tenant at Microsoft.
org-connect = Connect the provider
org-required = Required
org-require = Require this provider
org-require-text = Members then come to this organization in no other way; what they hold without it confers nothing here.
org-require-no-more = Do not require it any more
org-required-text = Members come to this organization in no other way.
org-register-there = Register these addresses at the provider
org-redirect-uri = Redirect address
org-logout-uri = Back-channel logout
org-begin-uri = Sign-in begins at
org-keys-uri = Keys of our client
org-change-connection = Change it
org-believe-acr = Believe the provider when it says that two factors were used
org-scim-subject = People that the directory made are known here by their externalId
org-mappings = Roles by claims
org-mappings-hint = One on a line: the claim, its value, the role. Such as: groups finance clerk
org-connection-ends = Another client id or secret ends every sign-in that rests on this provider.
org-delete-connection = Delete the connection
org-delete-connection-text = Its identities are forgotten, and every sign-in that rests on it ends.
org-trial = Trial
org-trial-text = Try a sign-in: no person is signed in, and you see each message and what it would have become.
org-try = Try it
org-trial-waits = The provider has not answered yet.
org-trial-signed-in = It works: a person who is known here would have been signed in.
org-trial-created = It works: an account would have been made under a proved domain.
org-trial-not-vouched = It would have been refused: no account is linked, and no proved domain vouches for the address.
org-trial-not-linked = It would have been refused: an account has this address. Its person signs in and links the provider.
org-trial-disabled = It would have been refused: the membership is disabled.
org-trial-unavailable = The provider cannot be reached, or does not answer as it should.
org-trial-refused = The provider has refused, or what it says is not believed.
org-trial-subject = Subject
org-trial-acr = Assurance
org-trial-messages = Messages
org-many-connections = There are fifty connections. Delete one first.
org-two-factors = This needs two factors. Add a passkey or an authenticator app to your account, and sign in with it.
org-data = Data
org-file-title = Take it along
org-file-text = One file has the roles, domains, connections, members and clients of this organization. No password, key or other secret is in it.
org-file-button = Download the organization
org-delete-title = Delete this organization
org-delete-text = It is suspended at once: members, applications and keys can do nothing here any more. After 30 days it is erased. Until then the operator of this service can take it back. Its short name is never used again. The accounts of people stay.
org-delete-confirm = Short name of the organization, to confirm
org-delete-reason = Why
org-delete-button = Delete the organization
org-event = Event
org-from = From
org-before = Before
org-filter = Filter
org-export = Download as JSON lines
org-export-hint = Days begin at midnight in UTC. A download has every entry of the filter.
org-detail = Details
org-wrong-field = That was not taken. Check this field: { $field }.
org-not-held = Only what you hold yourself can be given. Nothing was changed.
org-not-allowed = You do not hold the permission for this. Nothing was changed.
org-changed-since = It has changed since you opened the page. Look at it again, then repeat.
org-exists = There is one of that name already.
org-no-mail = No mail is sent from here. Ask the operator to invite the person.
org-gone = It is not there, or no more.

## The end of a flow

sign-out = Sign out
sign-out-title = Sign out?
sign-out-text = If you did not ask for this, stay signed in.
sign-out-all = Sign out of all accounts in this browser
stay-signed-in = Stay signed in
signed-out-title = You are signed out
signed-out-text = You can close this page.
signed-out-back = You go back to { $host }.
sign-in-again = Sign in again
done-title = You are done here
done-text = This was finished before. Nothing more is to do on this page.
failed-title = This did not work out
failed-text = Nothing was changed. You can start again.
other-account-title = This invitation is for another account
other-account-text = It was sent to { $email }. Go on with the account that has this address, or ask for an invitation to the one that you use.
sign-out-go-on = Sign out and go on
to-other-account = Go on with that account
to-account = To your account
back-to-app = Back to the application
move-on-title = Taking you back
sign-out-on-text = The sign-out goes on at { $host }.
leave-to-title = Taking you to { $name }
denied-title = You said no
move-on-text = to { $host }

## What goes wrong

expired-title = This took a little too long
expired-text = Nothing was changed. Start again at { $host }.
over-title = This page was used before
over-text = Nothing was changed. Start again at { $host }.
cookies-title = Cookies are blocked here
cookies-text = Allow them for { $host }, then start again.
other-browser-title = This belongs to another browser
other-browser-text = Go on in the browser in which you began, or start again here at { $host }.
lost-sign-on-title = This sign-in cannot go on
lost-sign-on-text = Nothing was changed. It may be too old, have been used, or belong to another browser. Start again at { $host }.
unknown-title = There is nothing here
unknown-text = The link may be incomplete. Start again at { $host }.
invitation-void-title = This invitation cannot be used
invitation-void-text = It may have been accepted before, or be too old. Ask for a new one at { $host }.
recovery-void-title = This link cannot be used
recovery-void-text = It may have been used or replaced, or be too old. Start again at { $host }.
report-title = Was this not you?
report-text = An alert told you of a sign-in or a change. If it was not you, your account is signed out everywhere, and every application loses its access. Then you get it back by a recovery.
report-allow = It was not me
report-deny = It was me
report-note = Nothing happens before you choose.
report-denied-title = Nothing was changed
report-denied-text = You said that it was you. The link of the alert works no more.
report-spent = This link was used before, or is older than seven days.
report-void-title = This link cannot be used
report-void-text = It may have been used before, or be older than seven days. If you need to, recover your account at { $host }.
suspended-title = This organization is suspended
suspended-text = Nothing was changed. Ask its administrators, or use { $host } for another organization.
sign-up-closed-title = Accounts are made by invitation
sign-up-closed-text = Ask the people who run { $host } for one.
busy-title = Please try again
busy-text = { $host } is busy for a moment. Nothing was changed.
too-many-text = There were too many requests to { $host }. Wait a minute.
foreign-title = This form came from another site
foreign-text = Nothing was changed. Start again at { $host }.
bad-link-title = This sign-in link cannot be used
bad-link-text = The application that sent you here made a mistake. Go back to it and try again; if that does not help, tell its makers.
bad-link-self = The application that sent you here made a mistake. It registered itself, and would take you to the address below. Go there only if you know it.
still-signed-in-title = You are still signed in
still-signed-in-text = The sign-out could not be done. Sign out from your account at { $host }.
missing-title = There is no such page
missing-text = The address may be incomplete, or the page has moved. Start again at { $host }.
broken-title = Something broke on our side
broken-text = It was noted at { $host }. Start again; if it happens once more, tell the people who run it.
unreadable-title = That could not be read
unreadable-text = Nothing was changed. Start again at { $host }.
for-developers = For developers:
request-id = Request
too-many-tries = { $number ->
    [one] Too many tries. Wait a minute, or use a passkey.
   *[other] Too many tries. Wait { $number } minutes, or use a passkey.
}
wrong-password = That did not match. Check both and try again.
wrong-email-code = That code did not match. Check the newest e-mail.
wrong-sms-code = That code did not match. Check the newest message.
wrong-totp = That code did not match. Wait for the next one and try again.
wrong-recovery-code = That code did not match, or was used before.
wrong-link = That link did not match. Open the one in the newest e-mail.
wrong-passkey = That passkey did not work here. Try again, or use another way.
wrong-identifier = Write your e-mail address, such as ana@example.com.
wrong-profile = Check the e-mail address and try again.
wrong-user-code = No device waits with that code. Check it, or have the device show a new one.
field-missing = Something is missing. Check the form and try again.
password-refused = That password is too short or too well known. Choose another.
passkey-refused = That passkey is on your account already, or there are too many.
email-taken = There is an account with this address now. Sign in to it.
try-again = That could not be done just now. Please try again.
not-now = This step is over. Here is where you are.
sso-refused = The sign-in at the other provider did not work. Try again, or use another way.
sso-unavailable = The other provider does not answer now. Try again in a moment, or use another way.
account-not-vouched = You are known there, but no account here is linked to it, and none can be made for your address. Ask your administrator.
identity-not-linked = An account here has this address already. Sign in to it in another way, then link the two on your account page.
membership-disabled = Your membership in this organization is disabled. Ask its administrator.
not-taken = That could not be done. Please try again.

## Pages of a development server

dev-badge = porteiro dev
dev-sections = Development
playground = Playground
playground-lede = Sign in to this page as if it were an application of yours. It shows every message on the way, and why it can be trusted.
play-needs-script = The playground needs JavaScript, which is off in this browser.
play-missing-title = The playground has no client yet
play-missing-text = This folder was made by an older version. Add these lines to .porteiro/demo.toml:
play-missing-then = Then run this, and load the page again:
play-new-here = New here? Create an account in a new tab, with a passkey, then come back. Its mails are in the mailbox.
play-demo-account = Or use { $email }: its password is in the terminal.
play-invoices = Also ask to see invoices
play-invoices-hint = Only members of the demo organization may, such as { $email }.
play-signed-in = It worked. This page knows you as
play-unfold = Show every message
play-trouble = The server gave no answer. Is it still running?
play-denied = Porteiro said no. Step 2 shows why.
play-done = Done
play-refused = Refused
play-ok = Checked
play-bad = Wrong
play-unknown = This browser cannot check it
play-sent = What was sent
play-came = What came back
play-claims = What it says
play-token = The token itself
play-section = What happens when you sign in
play-ask = Ask
play-ask-text = This page sends the browser to Porteiro, and says what it would like to know about you.
play-ask-why = It has made up a secret and sends only its hash (code_challenge). A stolen answer is useless without the secret.
play-back = Come back with a code
play-back-text = Porteiro asks you to prove who you are and to agree, then sends you back with a code. This page sees no password and no passkey.
play-check-state = The answer belongs to this page's own question
play-check-issuer = It comes from the server that was asked
play-trade = Trade the code for tokens
play-trade-text = This page shows the code together with its secret, and gets tokens: signed notes that say who you are and what is allowed.
play-trade-why = A code works once, within a minute, and only with that secret (code_verifier).
play-id = Check the ID token
play-id-text = It tells this page who you are.
play-check-signature = Its signature is valid: nothing was changed on the way
play-check-iss = It was made by this server
play-check-aud = It is meant for this page
play-check-nonce = It was made for this very sign-in
play-check-exp = It has not expired
play-check-at-hash = It belongs to the access token beside it
play-access = Check the access token
play-access-text = This page would show it to an API, which checks it in the same way.
play-check-typ = It is an access token, and cannot pass for anything else
play-check-api = It is meant for one API, and for no other
play-check-client = It was given to this page
play-userinfo = Ask about you
play-userinfo-text = With the access token this page asks for what you agreed to share.
play-check-sub = It is about the same person
play-stolen-section = A stolen token
play-stolen = Steal the access token
play-stolen-text = Another page has found your access token, in a log or in a proxy. It has its text, and neither your browser's session nor this page's memory.
play-stolen-how = Here it is a frame without an origin of its own. It gets the text by a message, and nothing else reaches it.
play-stolen-button = Let the other page use it
play-other-sent = What the other page sent
play-other-came = What the other page got
play-check-stolen = The other page reads your data: the text is all that it needs
play-bound = Get a token that is bound to a key
play-bound-text = This page makes a key that never leaves this browser, and signs a proof when it asks for its next token (DPoP). That token names the key. The refresh token stays as it was issued, without a key: an application that proves its key when it redeems the code gets a bound one.
play-bound-button = Get a bound token
play-check-key = No script can read the key, not even this page's own
play-check-bound = The token names the key of this page
play-worthless = Steal the bound token
play-worthless-text = The other page gets the text of this one, too. It tries the text alone, then with a proof by a key of its own. Then this page asks, with its own key.
play-check-alone = The text alone is refused
play-check-forged = With a proof by another key it is refused
play-check-owned = It works for this page
play-owned = What this page sent, and what came back
play-refresh-section = Stay signed in
play-refresh = Get new tokens
play-refresh-text = An access token lives for five minutes. A refresh token brings the next one without asking you again.
play-refresh-button = Get new tokens
play-check-rotated = The refresh token is a new one: each works once
play-check-new-signature = The signature of the new access token is valid
play-reuse = Use the old one again
play-reuse-text = Imagine that the old refresh token was stolen. When a used one turns up again, Porteiro ends all of them.
play-reuse-button = Use the old one
play-check-old = The old one is refused
play-check-newest = The newest one is ended with it
play-check-access = The access token is ended, too
play-device-section = Connect a device
play-device = Get a code
play-device-text = A television has no keyboard: it shows a code, and you allow it in a browser. Here, this page is the television.
play-device-button = Get a code
play-device-open = Allow it in a new tab
play-device-waiting = This page asks every few seconds whether you have allowed it:
play-connected = Get the tokens
play-connected-text = As soon as you have allowed it, the next question is answered with tokens.
play-agent-section = Let an agent ask you
play-agent = It makes itself known
play-agent-text = An agent acts for you without you. Here, this page is the agent: it registers itself, and can reach no person yet.
play-agent-button = Start the agent
play-let = You let it in
play-let-text = Compare the code, and allow it. From then on it may ask you for more.
play-pay = It asks for one payment
play-pay-text = It wants to pay 40 EUR to a bakery, and no link leads from it to you: you are asked by mail and on a page of your own.
play-pay-button = Ask for the payment
play-pay-open = Look at the request in a new tab
play-pay-waiting = The agent asks every few seconds whether you have decided:
play-paid = It gets a token for that payment alone
play-paid-text = What you read is what the token says. An API that takes payments would take this one and no other.
play-check-details = It holds exactly the payment that you approved
play-check-used = It works: the agent asked with it whom it acts for
play-out = Sign out
play-out-text = This page forgets its tokens and asks Porteiro to end your session in this browser.
play-out-asks = Porteiro will ask first, and not come back here: this port is not in post_logout_redirect_uris of the client.
mailbox = Mailbox
mailbox-lede = Every mail and SMS that this server has sent since it started, newest first.
mailbox-empty = Nothing has been sent yet. Ask for a code on a sign-in page, and it appears here.
mailbox-gone = That message is not here. The newest 200 since the start are kept.
mailbox-all = All messages
mailbox-news = A new message has come.
mailbox-open-link = Open the link
mailbox-html = As sent
mailbox-text = Its text
