### Mails in English. Each has a subject, a lead, a note below, and an action where there is a link.
### The code or the link itself stands alone on a line between lead and note: never write it here.

footer = This e-mail was sent by { $host }. Answers to it are not read.

## Below the note: who asked, from where and when.
fact-time = Time
fact-by = By
fact-application = Application
fact-device = Device
fact-place = Place
fact-network = Network
by-operator = an operator of { $host }
by-administrators = the administrators of the organization
by-self-registered = one that registered itself
device-on = { $browser } on { $system }
date-time = { $day } { $month ->
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
} { $year }, { $time } UTC

## Of mails that were not sent: one of a kind is, in an hour.
others = { $others ->
    [one] Since the last mail about it there was one more of the same kind. Your account's history names it.
   *[other] Since the last mail about it there were { $others } more of the same kind. Your account's history names each of them.
}

## Where a page takes it, instead of the note: how a person says that it was not them. `.beside` stands before it.
report-lead = If this was not you, say so with this link. It works for seven days, and asks before it does anything:
report-action = This wasn't me

## The mails.

sign-in-code =
    .subject = Your sign-in code for { $host }
    .lead = Enter this code to sign in at { $host }:
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail and give the code to no one.

sign-in-link =
    .subject = Your sign-in link for { $host }
    .lead = Open this link to sign in at { $host }, in the browser in which you asked for it:
    .action = Sign in
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail.

verify-email-code =
    .subject = Confirm your e-mail address at { $host }
    .lead = Enter this code at { $host } to confirm that this address is yours:
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail and give the code to no one.

verify-email-link =
    .subject = Confirm your e-mail address at { $host }
    .lead = Open this link to confirm at { $host } that this address is yours:
    .action = Confirm the address
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail.

sign-up-code =
    .subject = Your code for a new account at { $host }
    .lead = Enter this code to create your account at { $host }:
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail: no account is created.

sign-up-link =
    .subject = Your link for a new account at { $host }
    .lead = Open this link to create your account at { $host }:
    .action = Create the account
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail: no account is created.

sign-up-known =
    .subject = You have an account at { $host } already
    .lead = A new account at { $host } was asked for with this address, which has an account already.
    .note = Sign in with it, or recover it if you cannot. If you did not ask for an account, ignore this e-mail: nothing has changed.

invitation =
    .subject = Your invitation to { $organization } at { $host }
    .lead = { $role ->
        [administrator] You are invited to { $organization } at { $host }, as an administrator. Open this link to accept:
       *[member] You are invited to { $organization } at { $host }. Open this link to accept:
    }
    .action = Accept the invitation
    .note = It works once. If you do not know what this is about, ignore this e-mail: without your consent nothing happens.

approval =
    .subject = An application asks for your approval at { $host }
    .lead = Open this link to see what it asks for, and to approve or deny it at { $host }:
    .action = See the request
    .note = The link alone decides nothing: it is done where you are signed in. If you do not expect this, deny it.

recovery-code =
    .subject = Your recovery code for { $host }
    .lead = Enter this code to recover your account at { $host }:
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail and give the code to no one.

recovery-link =
    .subject = Your recovery link for { $host }
    .lead = Open this link to recover your account at { $host }, in the browser in which you asked for it:
    .action = Recover the account
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail.

recovery-started =
    .subject = A recovery of your account at { $host } has begun
    .lead = A recovery of your account at { $host } has begun. If that was you, you need not do anything here. If it was not you, stop it with this link:
    .action = Stop the recovery
    .note = Until the recovery is finished, your account stays as it is.

recovery-issued =
    .subject = A link to recover your account at { $host } was made
    .lead = An operator of { $host } has made a link by which your account can be recovered. If you asked for it, you need not do anything here. If you did not, stop it with this link:
    .action = Stop the recovery
    .note = Until the link is used, your account stays as it is. It can be used once, for a day.

password-changed =
    .subject = Your password at { $host } was changed
    .lead = The password of your account at { $host } was changed.
    .note = If that was not you, recover your account now.

password-removed =
    .subject = Your password at { $host } was removed
    .lead = The password of your account at { $host } was removed. It no longer signs in.
    .note = If that was not you, recover your account now.

email-change-code =
    .subject = Confirm your new e-mail address at { $host }
    .lead = Enter this code at { $host } to use this address for your account:
    .note = It works once, for a few minutes. If you did not ask for it, ignore this e-mail and give the code to no one.

email-change-known =
    .subject = You have an account at { $host } already
    .lead = Another account at { $host } was to use this address, which has an account already.
    .note = Nothing has changed. If you want to use the address for the other account, sign in with this one and change its address or delete it first.

email-change-requested =
    .subject = Your e-mail address at { $host } is about to change
    .lead = Another e-mail address was asked for, for your account at { $host }. It is used as soon as it is confirmed.
    .note = If that was not you, recover your account now.

email-changed =
    .subject = Your e-mail address at { $host } was changed
    .lead = Your account at { $host } uses another e-mail address from now on. This one no longer signs in.
    .note = If that was not you, tell the people who run { $host } now.
    .beside = If that was not you, tell the people who run { $host } now: they alone can give the account back to this address.

phone-changed =
    .subject = Your phone number at { $host } was changed
    .lead = Your account at { $host } has another phone number from now on.
    .note = If that was not you, recover your account now.

phone-removed =
    .subject = Your phone number at { $host } was removed
    .lead = The phone number of your account at { $host } was removed.
    .note = If that was not you, recover your account now.

deletion-requested =
    .subject = Your account at { $host } will be deleted
    .lead = Your account at { $host } will be deleted on { $until }, with everything that is kept of you there. Everywhere it was signed out.
    .note = If you want to keep it, or did not ask for this, sign in before that day: then it is not deleted.
    .beside = If you want to keep it, sign in before that day: then it is not deleted.

passkey-added =
    .subject = A passkey was added to your account at { $host }
    .lead = The passkey “{ $name }” was added to your account at { $host }.
    .note = If that was not you, recover your account now and remove the passkey.

passkey-removed =
    .subject = A passkey was removed from your account at { $host }
    .lead = The passkey “{ $name }” was removed from your account at { $host }. It no longer signs in.
    .note = If that was not you, recover your account now.

identity-linked =
    .subject = A sign-in was linked to your account at { $host }
    .lead = Your account at { $host } was linked with a sign-in at “{ $connection }”. From now on it opens what that sign-in is for.
    .note = If that was not you, recover your account now and unlink it.

identity-unlinked =
    .subject = A sign-in was unlinked from your account at { $host }
    .lead = The sign-in at “{ $connection }” was unlinked from your account at { $host }. It no longer signs in.
    .note = If that was not you, recover your account now.

totp-enrolled =
    .subject = An authenticator application was added to your account at { $host }
    .lead = An authenticator application was added to your account at { $host }. From now on its code is asked for after your password.
    .note = If that was not you, recover your account now.

totp-removed =
    .subject = The authenticator application was removed from your account at { $host }
    .lead = The authenticator application was removed from your account at { $host }. Its codes are no longer asked for.
    .note = If that was not you, recover your account now.

recovery-codes-made =
    .subject = You have new recovery codes for { $host }
    .lead = New recovery codes were made for your account at { $host }. The former ones no longer work.
    .note = If that was not you, recover your account now.

recovery-code-used =
    .subject = A recovery code was used at { $host }
    .lead = One of the recovery codes of your account at { $host } was used. It does not work again.
    .note = If that was not you, recover your account now.

account-recovered =
    .subject = Your account at { $host } was recovered
    .lead = Your account at { $host } was recovered. Everywhere else it was signed out.
    .note = If that was not you, tell the people who run { $host } now.
    .beside = If that was not you, tell the people who run { $host } now.

new-device =
    .subject = A new device signed in to your account at { $host }
    .lead = Your account at { $host } was signed in to from a device that was not used for it before.
    .note = If that was you, you need not do anything. If it was not you, recover your account now.

impossible-travel =
    .subject = A sign-in from far away to your account at { $host }
    .lead = Your account at { $host } was signed in to from a place that is too far from the one before for the time between them.
    .note = If that was you, you need not do anything. If it was not you, recover your account now.

alert-digest =
    .subject = More sign-ins to your account at { $host }
    .lead = { $folded ->
        [one] After the last alert there was one more sign-in to your account at { $host } from another device or place. Your account's history names it.
       *[other] After the last alert there were { $folded } more sign-ins to your account at { $host } from other devices or places. Your account's history names each of them.
    }
    .note = If that was you, you need not do anything. If it was not you, recover your account now.

notice-digest =
    .subject = More changes of your account at { $host }
    .lead = { $folded ->
        [one] After the last mail about it there was one more change of your account at { $host }. Your account's history names it.
       *[other] After the last mails about it there were { $folded } more changes of your account at { $host }. Your account's history names each of them.
    }
    .note = If that was you, you need not do anything. If it was not you, recover your account now.

role-granted =
    .subject = You have a new role at { $host }
    .lead = From now on you have the role “{ $role }” in { $organization } at { $host }.
    .note = If you do not know why, ask the administrators of { $organization }.
    .beside = If you do not know why, ask the administrators of { $organization }.

api-key-made =
    .subject = An API key was made in your name at { $host }
    .lead = The API key “{ $name }” was made in your name for { $organization } at { $host }. It acts without your being signed in.
    .note = If that was not you, have the key revoked and recover your account now.
    .beside = If you say that it was not you, this API key ends as well.

agent-allowed =
    .subject = An agent may act for you at { $host }
    .lead = You have allowed the agent “{ $agent }” to act for you at { $host }.
    .note = If that was not you, disconnect it in your account and change your password.

test =
    .subject = A test mail from { $host }
    .lead = This is a test: { $host } can send mail to this address.
    .note = An operator asked for it with `porteiro doctor`.
